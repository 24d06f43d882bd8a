// One card for each reader: its answer, how sure it is, its sentence and place, other candidates.

import { button, element, isolated, percent, units } from "./elements.js";

// Words and colours of the same confidence.
function sureness(score) {
  if (score >= 0.8) return ["Sure", "high"];
  return score >= 0.5 ? ["Likely", "middle"] : ["Unsure", "low"];
}

export class Card {
  // `documents` has the texts by name; `show` is called when another candidate is chosen.
  // An answer is given if it is right with at least the probability `level`.
  constructor(found, number, level, documents, show) {
    const { reader } = found;
    const candidates = found.candidates.filter(({ score }, n) => n < 1 || score >= 0.01);
    Object.assign(this, { reader, number, documents, found: { ...found, candidates } });
    this.line = element("p", { class: "answer", dir: "auto" });
    this.sure = element("p", { class: "sure" });
    this.quote = element("blockquote", { dir: "auto" });
    this.place = button("", () => show(this), { class: "place" });
    this.element = element("article", { class: "panel", "aria-label": reader });
    this.element.append(element("h3", { text: reader, class: `reader-${number % 6}` }));
    if (found.unknown_language) {
      const text = `Not trained on this language (${found.unknown_language}): do not rely on its answers.`;
      this.element.append(element("p", { class: "hint", text }));
    }
    this.element.append(this.line, this.sure, this.quote, this.place);
    this.buttons = candidates.map((candidate, n) => {
      const choose = button("", () => {
        this.choose(n);
        show(this);
      });
      const text = `${this.where(candidate)} · ${percent(candidate.score)}`;
      choose.append(...this.sentence(candidate), element("span", { text }));
      return choose;
    });
    const items = this.buttons.map((one) => element("li", { dir: "auto" }, one));
    const hint = element("p", { class: "hint", text: "Alt+↓ and Alt+↑ walk through them." });
    this.title = element("summary");
    this.others = element("details", {}, this.title, element("ol", {}, ...items), hint);
    this.element.append(this.others);
    this.judge(level);
  }

  judge(level) {
    const [best] = this.found.candidates;
    this.first = best && best.score >= level ? 0 : -1; // -1: no candidate, no answer
    this.title.textContent = this.first < 0 ? "Best guesses" : "All candidates";
    this.others.hidden = this.buttons.length <= this.first + 1;
    this.choose(this.first);
  }

  // What is remembered of it.
  get said() {
    const best = this.found.candidates[this.first];
    return { reader: this.reader, text: best?.text ?? "", score: best?.score ?? this.found.no_answer };
  }

  get candidate() {
    return this.found.candidates[this.chosen];
  }

  get summary() {
    const said = this.candidate ? isolated(this.candidate.text) : "no answer";
    return `${this.reader}: ${said}, ${this.sure.textContent.toLowerCase()}`;
  }

  get mark() {
    const shown = this.candidate;
    if (!shown) return null;
    const { text } = this.documents.get(shown.document);
    const start = units(text, shown.start);
    const end = units(text, shown.end - shown.start, start);
    const guess = this.first < 0;
    return { document: shown.document, start, end, name: this.reader, number: this.number, guess };
  }

  where(candidate) {
    // Parts of a document, such as pages, and their names.
    const { starts = [], labels = [] } = this.documents.get(candidate.document);
    const part = labels[starts.findLastIndex((start) => start <= candidate.start)];
    return `${candidate.document}, ${part || `line ${candidate.line}`}`;
  }

  sentence(candidate) {
    const { sentence } = candidate;
    const start = units(sentence, candidate.start - candidate.sentence_start);
    const end = units(sentence, candidate.end - candidate.start, start);
    const mark = element("mark", { text: sentence.slice(start, end) });
    return [element("bdi", {}, sentence.slice(0, start), mark, sentence.slice(end))];
  }

  step(by) {
    this.choose(Math.min(Math.max(this.chosen + by, this.first), this.buttons.length - 1));
  }

  choose(number) {
    this.chosen = number;
    const { candidate } = this;
    const [word, level] = sureness(candidate ? candidate.score : this.found.no_answer);
    const score = percent(candidate ? candidate.score : this.found.no_answer);
    const none = this.found.no_answer >= 0.5 ? "in these documents" : "that is sure enough";
    this.line.textContent = candidate ? candidate.text : `No answer ${none}`;
    this.element.classList.toggle("abstained", !candidate);
    this.sure.className = `sure ${candidate ? level : "none"}`;
    this.sure.textContent = `${word} · ${score}`;
    this.quote.replaceChildren(...(candidate ? this.sentence(candidate) : []));
    this.quote.hidden = !candidate;
    this.place.textContent = candidate ? this.where(candidate) : "";
    this.place.hidden = !candidate;
    this.buttons.forEach((one, n) => one.setAttribute("aria-pressed", String(n === number)));
  }
}
