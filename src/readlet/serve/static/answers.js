// One card for each reader: its answer, how sure it is, its sentence and place, other candidates.

import { button, element, isolated, percent, units } from "./elements.js";

// Words and colours of the same confidence.
const SURENESS = { sure: ["Sure", "high"], likely: ["Likely", "middle"], unsure: ["Unsure", "low"] };

export class Card {
  // `documents` has the texts by name; `show` is called when another candidate is chosen.
  constructor(found, number, documents, show) {
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
    this.first = found.abstained ? -1 : 0; // -1: no candidate, no answer
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
    return `${candidate.document}, ${candidate.place}`;
  }

  sentence(candidate) {
    const { sentence } = candidate;
    const start = units(sentence, candidate.start - candidate.sentence_start);
    const end = units(sentence, candidate.end - candidate.start, start);
    const mark = element("mark", {
      text: sentence.slice(start, end),
      class: `reader-${this.number % 6}`,
    });
    return [element("bdi", {}, sentence.slice(0, start), mark, sentence.slice(end))];
  }

  step(by) {
    this.choose(Math.min(Math.max(this.chosen + by, this.first), this.buttons.length - 1));
  }

  choose(number) {
    this.chosen = number;
    const { candidate } = this;
    const { no_answer: none, candidates } = this.found;
    const isLikely = candidates.length > 0 && candidates[0].score >= none;
    const { certainty, score } = candidate ?? { certainty: this.found.certainty, score: none };
    const [word, level] = SURENESS[certainty];
    const refused = isLikely ? "No answer is sure enough" : "No answer in these documents";
    this.line.textContent = candidate ? candidate.text : refused;
    this.element.classList.toggle("abstained", !candidate);
    this.sure.className = `sure ${candidate ? level : "none"}`;
    this.sure.textContent = `${word} · ${percent(score)}`;
    if (!candidate && isLikely) {
      this.sure.textContent = `Best guess ${percent(candidates[0].score)} · no answer ${percent(none)}`;
    }
    this.quote.replaceChildren(...(candidate ? this.sentence(candidate) : []));
    this.quote.hidden = !candidate;
    this.place.textContent = candidate ? this.where(candidate) : "";
    this.place.hidden = !candidate;
    this.buttons.forEach((one, n) => one.setAttribute("aria-pressed", String(n === number)));
  }
}
