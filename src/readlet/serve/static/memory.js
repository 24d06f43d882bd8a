// What survives a reload, in this browser only.

const MOST_QUESTIONS = 30;
const MOST_TEXT = 2_000_000; // characters; browsers keep some five million

function load(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

// Whether it could be kept.
function keep(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    localStorage.removeItem(key); // full, or not allowed
    return false;
  }
}

export const questions = () => load("readlet-questions", []);
export const documents = () => load("readlet-documents", []);
export const settings = () => load("readlet-settings", {});

export function keepQuestion(entry) {
  const others = questions().filter(({ question }) => question !== entry.question);
  keep("readlet-questions", [entry, ...others].slice(0, MOST_QUESTIONS));
}

export function keepDocuments(all) {
  const size = all.reduce((sum, { text }) => sum + text.length, 0);
  const fits = size <= MOST_TEXT;
  return keep("readlet-documents", fits ? all : []) && fits;
}

export const keepSettings = (changed) => keep("readlet-settings", { ...settings(), ...changed });
export const forgetQuestions = () => localStorage.removeItem("readlet-questions");
