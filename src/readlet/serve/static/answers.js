// One card for each reader: its answer in the passage and the other candidates.
// Texts are always set as text, never as HTML.

// A text from right to left must not reorder the words around it.
const isolated = (text) => `\u2068${text}\u2069`;
const percent = (share) => `${Math.round(100 * share)} %`;

export function element(name, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export class Card {
  constructor(reader, passage, answer) {
    this.reader = reader;
    // Offsets count code points; JavaScript's own count UTF-16 units.
    this.points = Array.from(passage);
    this.answer = answer;
    this.chosen = answer.abstained ? -1 : 0; // -1: no candidate, "no answer here"
    this.line = element("p", { class: "answer", dir: "auto" });
    this.sure = element("div", { class: "sure" });
    this.passage = element("div", { class: "passage", dir: "auto", tabindex: "0", role: "group" });
    this.passage.setAttribute("aria-label", "The passage with the answer");
    this.list = element("ol", { class: "candidates", "aria-label": "Candidates" });
    this.buttons = answer.n_best.map((candidate, number) => this.#candidate(candidate, number));
    this.element = element("article", { "aria-label": reader }, element("h2", { text: reader }));
    if (answer.unknown_language) {
      const text = `Not trained on this language (${answer.unknown_language}): do not rely on its answers.`;
      this.element.append(element("p", { class: "hint", text }));
    }
    this.element.append(this.line, this.sure, this.passage, this.list);
    this.show();
  }

  get summary() {
    if (this.chosen < 0) return `${this.reader}: no answer here, ${percent(this.answer.no_answer)} sure`;
    const candidate = this.answer.n_best[this.chosen];
    return `${this.reader}: ${isolated(candidate.text)}, ${percent(candidate.score)} sure`;
  }

  choose(number) {
    this.chosen = number;
    this.show();
  }

  step(by) {
    const first = this.answer.abstained ? -1 : 0;
    this.choose(Math.min(Math.max(this.chosen + by, first), this.answer.n_best.length - 1));
  }

  show() {
    const candidate = this.answer.n_best[this.chosen];
    const sure = candidate ? candidate.score : this.answer.no_answer;
    this.line.textContent = candidate ? candidate.text : "No answer here";
    this.line.classList.toggle("abstained", !candidate);
    const meter = element("meter", { min: 0, max: 1, value: sure, "aria-label": "Confidence" });
    this.sure.replaceChildren(meter, element("span", { text: `${percent(sure)} sure` }));
    if (candidate && this.answer.no_answer > 0) {
      const doubt = `no answer: ${percent(this.answer.no_answer)}`;
      this.sure.append(element("span", { text: doubt }));
    }
    this.buttons.forEach((button, number) => {
      button.setAttribute("aria-pressed", String(number === this.chosen));
    });
    this.#mark(candidate);
  }

  #mark(candidate) {
    if (!candidate) {
      this.passage.replaceChildren(this.points.join(""));
      return;
    }
    const piece = (start, end) => this.points.slice(start, end).join("");
    const mark = element("mark", { text: piece(candidate.start, candidate.end) });
    mark.classList.toggle("doubtful", this.answer.abstained);
    const after = piece(candidate.end, this.points.length);
    this.passage.replaceChildren(piece(0, candidate.start), mark, after);
    requestAnimationFrame(() => {
      // Only the passage scrolls, not the page.
      const place = mark.offsetTop - this.passage.offsetTop;
      this.passage.scrollTop = place - this.passage.clientHeight / 3;
    });
  }

  #candidate(candidate, number) {
    const button = element("button", { type: "button" });
    button.append(element("bdi", { text: candidate.text }));
    button.append(element("span", { text: percent(candidate.score) }));
    button.addEventListener("click", () => this.choose(number));
    this.list.append(element("li", {}, button));
    return button;
  }
}
