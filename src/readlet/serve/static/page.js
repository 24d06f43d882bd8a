// The page: choose a passage, ask, walk through the candidates.

import { Card, element } from "./answers.js";
import { keepKey, request } from "./api.js";

const byId = (id) => document.getElementById(id);
const passage = byId("passage");
const question = byId("question");
const status = byId("status");
const kinds = { pdf: "pdf", html: "html", htm: "html", txt: "text", md: "text" };
let readers = [];
let limits = {};
let bundled = [];
let cards = [];
let asking = null; // to abort: the server then does not compute what nobody waits for

function say(text, { fault = false } = {}) {
  status.textContent = text;
  status.classList.toggle("fault", fault);
}

function report(error) {
  if (error.name === "AbortError") return;
  if (error.status === 401) {
    byId("key-form").hidden = false;
    byId("key").focus();
  }
  say(error.message, { fault: true });
}

async function begin() {
  try {
    ({ readers, limits } = await request("/readers"));
    bundled = await request("/passages");
  } catch (error) {
    report(error);
    return;
  }
  byId("key-form").hidden = true;
  say(readers.length ? "" : "This server has no reader; its API classifies texts.");
  const boxes = readers.map(({ name }) => {
    const box = element("input", { type: "checkbox", value: name });
    box.checked = true;
    return element("label", {}, box, ` ${name}`);
  });
  byId("readers").replaceChildren(element("legend", { text: "Readers" }), ...boxes);
  byId("readers").hidden = readers.length < 2;
  const options = bundled.map(({ title }, n) => element("option", { text: title, value: n }));
  byId("bundled").append(...options);
}

function suggest(questions) {
  const buttons = questions.map((text) => {
    const button = element("button", { type: "button", text });
    button.addEventListener("click", () => {
      question.value = text;
      ask();
    });
    return button;
  });
  byId("suggestions").replaceChildren(...buttons);
}

function take(text, questions = []) {
  passage.value = text;
  suggest(questions);
  byId("results").replaceChildren();
  cards = [];
  question.focus();
}

async function open(file) {
  if (!file) return;
  const ending = file.name.includes(".") ? file.name.split(".").pop().toLowerCase() : "";
  const kind = kinds[ending];
  if (!kind) {
    say(`${file.name}: not a .txt, .md, .html or .pdf file`, { fault: true });
    return;
  }
  if (file.size > limits.body_bytes) {
    say(`${file.name}: is too large`, { fault: true });
    return;
  }
  say(`Reading ${file.name} …`);
  try {
    const { text } = await request(`/text?kind=${kind}`, { body: file });
    take(text);
    say(`${file.name}: ${Array.from(text).length} characters`);
  } catch (error) {
    report(error);
  }
}

async function ask() {
  const asked = { question: question.value, passage: passage.value };
  if (!asked.passage.trim()) {
    say("Give a passage first.", { fault: true });
    passage.focus();
    return;
  }
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  const boxes = [...byId("readers").querySelectorAll("input")];
  const chosen = readers.filter((_, number) => boxes[number].checked);
  if (!chosen.length) {
    say("Choose a reader.", { fault: true });
    return;
  }
  say("Reading …");
  byId("results").setAttribute("aria-busy", "true");
  const options = { always_answer: byId("always").checked };
  try {
    const found = await Promise.all(
      chosen.map(async ({ name }) => {
        const json = { ...asked, ...options, reader: name };
        const { answers } = await request("/answer", { json, signal: mine.signal });
        return { name, answer: answers[0] };
      }),
    );
    // Only now: a card scrolls to its answer in the next frame, and has to be in the page by then.
    cards = found.map(({ name, answer }) => new Card(name, asked.passage, answer));
    byId("results").replaceChildren(...cards.map((card) => card.element));
    summarise();
    question.select(); // a follow-up question replaces this one
  } catch (error) {
    report(error);
  } finally {
    byId("results").removeAttribute("aria-busy");
  }
}

function summarise() {
  const many = cards.some(({ answer }) => answer.n_best.length > 1);
  const hint = many ? ". Alt+↓ shows the next candidate" : "";
  say(cards.map(({ summary }) => summary).join("; ") + hint);
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepKey(byId("key").value);
  begin();
});
byId("bundled").addEventListener("change", ({ target }) => {
  const found = bundled[target.value];
  if (target.value && found) take(found.passage, found.questions);
  target.value = "";
});
byId("file").addEventListener("change", ({ target }) => {
  open(target.files[0]);
  target.value = ""; // the same file may be chosen again
});
passage.addEventListener("input", () => suggest([]));
document.addEventListener("keydown", (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || !event.altKey || !cards.length) return;
  event.preventDefault();
  for (const card of cards) card.step(by);
  summarise();
});
for (const name of ["dragenter", "dragover"]) {
  document.addEventListener(name, (event) => {
    if (!event.dataTransfer.types.includes("Files")) return; // text may be dropped as usual
    event.preventDefault();
    byId("source").classList.add("dropping");
  });
}
for (const name of ["dragleave", "drop"]) {
  document.addEventListener(name, () => byId("source").classList.remove("dropping"));
}
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  open(event.dataTransfer.files[0]);
});

begin();
