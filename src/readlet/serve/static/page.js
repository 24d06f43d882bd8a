// The page: give documents, ask, walk through the candidates.

import { Card } from "./answers.js";
import { keepKey, request } from "./api.js";
import { button, element, percent } from "./elements.js";
import { chosen, dropped, readAll } from "./files.js";
import * as memory from "./memory.js";
import { TextView } from "./text.js";

const PASTED = "Pasted text";
const byId = (id) => document.getElementById(id);
const passage = byId("passage");
const question = byId("question");
const view = new TextView(byId("text"));
const documents = new Map(); // name -> {name, text, starts, labels}
let server = { readers: [], limits: {}, kinds: {}, levels: {} };
let current = null; // the name of the document that is shown; null: the text is being edited
let cards = [];
let lastQuestion = "";
let asking = null; // to abort: the server then does not compute what nobody waits for

// What is seen anyway is only said, to screen readers.
function say(text, { fault = false, seen = false } = {}) {
  byId("status").textContent = text;
  byId("status").classList.toggle("hidden", seen);
  byId("status").classList.toggle("fault", fault);
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
    server = await request("/readers");
    showExamples(await request("/passages"));
  } catch (error) {
    report(error);
    return;
  }
  byId("key-form").hidden = true;
  showLevel(); // with its name
  say(server.readers.length ? "" : "This server has no reader; its API classifies texts.");
  const endings = Object.keys(server.kinds);
  byId("file").accept = endings.join(",");
  byId("kinds").textContent = `Files: ${endings.join(" ")}. Nothing is written to the server's disk.`;
  const off = memory.settings().off ?? [];
  const boxes = server.readers.map(({ name }) => {
    const box = element("input", { type: "checkbox", value: name });
    box.checked = !off.includes(name);
    return element("label", {}, box, ` ${name}`);
  });
  byId("readers").replaceChildren(element("legend", { text: "Readers" }), ...boxes);
  byId("readers").hidden = server.readers.length < 2;
  document.body.dataset.ready = "yes";
}

// Documents

function showDocuments() {
  const names = [...documents.keys()];
  const chips = names.map((name) => {
    const choose = button(name, () => open(name), { "aria-pressed": String(name === current) });
    const remove = button("×", () => drop(name), { "aria-label": `Remove ${name}` });
    return element("li", {}, choose, remove);
  });
  byId("documents").replaceChildren(...chips);
  byId("source-title").textContent = names.length > 1 ? `${names.length} documents` : "Documents";
  byId("documents").hidden = !names.length || (names.length === 1 && names[0] === PASTED);
  byId("paste").hidden = current !== null;
  byId("text").hidden = current === null;
  byId("edit").hidden = current !== PASTED;
  byId("clear").hidden = !names.length;
  byId("examples").hidden = names.length > 0 || !byId("examples").dataset.filled;
  const chip = byId("documents").querySelector("[aria-pressed=true]");
  if (chip) byId("documents").scrollTop = chip.offsetTop - byId("documents").offsetTop - 30;
  if (current === null) return;
  const marks = cards.map((card) => card.mark).filter((mark) => mark?.document === current);
  view.show(current, documents.get(current).text, marks);
}

function open(name) {
  current = name;
  showDocuments();
}

function changed() {
  cards = [];
  byId("results").replaceChildren();
  remember();
  showDocuments();
}

function remember() {
  byId("not-kept").hidden = memory.keepDocuments([...documents.values()]);
}

function drop(name) {
  documents.delete(name);
  if (current === name) current = documents.keys().next().value ?? null;
  changed();
}

function edit() {
  passage.value = documents.get(PASTED)?.text ?? "";
  documents.delete(PASTED);
  current = null;
  changed();
  passage.focus();
}

function takePasted() {
  if (current !== null || !passage.value.trim()) return;
  documents.set(PASTED, { name: PASTED, text: passage.value });
  passage.value = "";
  current = PASTED;
  remember();
  showDocuments();
}

async function take(files) {
  const out = [];
  const note = { reading: say, leftOut: (name, reason) => out.push(`${name}: ${reason}`) };
  try {
    takePasted();
    const read = await readAll(files, server, note);
    for (const one of read) documents.set(one.name, one);
    if (read.length) current = read[0].name;
    suggest([]);
    changed();
    const count = `${read.length} document${read.length === 1 ? "" : "s"} added`;
    const guessed = read.filter((one) => one.guessed_encoding);
    const notes = guessed.map((one) => ` ${one.name}: read as ${one.guessed_encoding}.`);
    if (read.length || out.length > 1) say(read.length ? `${count}.${notes.join("")} Ask a question.` : "");
    else say(out[0] ?? "No files there.", { fault: true });
    if (read.length) question.focus();
  } catch (error) {
    report(error);
  }
  const list = byId("left-out");
  list.hidden = !out.length || (out.length === 1 && !documents.size);
  list.open = out.length < 4;
  list.firstElementChild.textContent = `${out.length} left out`;
  list.lastElementChild.replaceChildren(...out.map((text) => element("li", { text })));
}

// Examples and earlier questions

function suggest(questions) {
  const buttons = questions.map((text) => button(text, () => askFor(text)));
  byId("suggestions").replaceChildren(...buttons);
}

function showExamples(bundled) {
  const items = bundled.slice(0, 4).map(({ title, passage: text, questions }) => {
    const asks = questions.slice(0, 2).map((asked) =>
      button(asked, () => {
        documents.clear();
        documents.set(title, { name: title, text });
        current = title;
        changed();
        suggest(questions);
        askFor(asked);
      }),
    );
    return element("li", {}, element("h3", { text: title }), ...asks);
  });
  byId("examples").lastElementChild.replaceChildren(...items);
  byId("examples").dataset.filled = items.length ? "yes" : "";
  showDocuments();
}

function showHistory() {
  const items = memory.questions().map(({ question: asked, answers }) => {
    const again = button(asked, () => askFor(asked));
    const said = answers.map(({ text, score }) => (text ? `${text} · ${percent(score)}` : "no answer"));
    return element("li", {}, again, element("span", { text: said.join("; "), dir: "auto" }));
  });
  byId("history").querySelector("ul").replaceChildren(...items);
  byId("history").hidden = !items.length;
}

// Questions

const level = () => Number(byId("level").value);

// It is `min_confidence`: by its name where it has one.
function minConfidence() {
  const named = Object.entries(server.levels).find(([, value]) => value === level());
  return named ? named[0] : level();
}

function showLevel() {
  const chosen = minConfidence();
  const shown = chosen === level() ? String(chosen) : `${chosen} (${level()})`;
  byId("level").nextElementSibling.nextElementSibling.textContent = shown;
  byId("level").setAttribute("aria-valuetext", shown);
}

function askFor(text) {
  question.value = text;
  ask(text);
}

// `again`: the same question at another level, while the user is busy with the slider.
async function ask(text, { again = false } = {}) {
  takePasted();
  if (!documents.size) {
    say("Give a text or a document first.", { fault: true });
    passage.focus();
    return;
  }
  const boxes = [...byId("readers").querySelectorAll("input")];
  const chosenOnes = server.readers.filter((_, number) => boxes[number].checked);
  if (!chosenOnes.length) {
    say("Choose a reader.", { fault: true });
    return;
  }
  memory.keepSettings({ off: boxes.filter((box) => !box.checked).map((box) => box.value) });
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  say("Reading …");
  byId("results").setAttribute("aria-busy", "true");
  lastQuestion = text;
  const texts = [...documents.values()].map(({ name, text, starts, labels }) => ({
    name,
    text,
    starts,
    labels,
  }));
  const json = { question: text, documents: texts, min_confidence: minConfidence() };
  try {
    const found = await Promise.all(
      chosenOnes.map(({ name }) =>
        request("/ask", { json: { ...json, reader: name }, signal: mine.signal }),
      ),
    );
    cards = found.map((one, number) => new Card(one, number, documents, show));
    byId("results").classList.toggle("single", cards.length === 1);
    byId("results").replaceChildren(...cards.map((card) => card.element));
    const best = cards.find((card) => card.mark);
    if (best) show(best);
    else showDocuments();
    summarise();
    memory.keepQuestion({ question: text, answers: cards.map(({ said }) => said) });
    showHistory();
    if (again) return;
    question.select(); // a follow-up question replaces this one
    byId("results").firstElementChild.scrollIntoView({ block: "nearest" }); // on a small screen
  } catch (error) {
    report(error);
  } finally {
    byId("results").removeAttribute("aria-busy");
  }
}

function show(card) {
  const { mark } = card;
  if (!mark) return;
  open(mark.document);
  view.scrollTo(mark.start);
}

function summarise() {
  say(cards.map(({ summary }) => summary).join("; "), { seen: true });
}

byId("level").addEventListener("input", showLevel);
byId("level").addEventListener("change", () => {
  memory.keepSettings({ level: level() });
  if (cards.length) ask(lastQuestion, { again: true });
});
byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  ask(question.value);
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepKey(byId("key").value);
  begin();
});
for (const id of ["file", "folder"]) {
  byId(id).addEventListener("change", async ({ target }) => {
    await take(chosen(target.files));
    target.value = ""; // the same file may be chosen again
  });
}
byId("edit").addEventListener("click", edit);
byId("clear").addEventListener("click", () => {
  documents.clear();
  current = null;
  suggest([]);
  byId("left-out").hidden = true;
  changed();
  say("");
});
byId("forget").addEventListener("click", () => {
  memory.forgetQuestions();
  showHistory();
});
document.addEventListener("keydown", (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || !event.altKey || !cards.length) return;
  event.preventDefault();
  for (const card of cards) card.step(by);
  show(cards.find((card) => card.mark) ?? cards[0]);
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
document.addEventListener("drop", async (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  take(await dropped(event.dataTransfer));
});

byId("level").value = memory.settings().level ?? 0.5;
showLevel();
for (const one of memory.documents()) documents.set(one.name, one);
current = documents.keys().next().value ?? null;
showHistory();
showDocuments();
begin();
