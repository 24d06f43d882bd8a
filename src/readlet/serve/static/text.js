// The text of a document, once, with the answers of all readers marked in their places.

import { element } from "./elements.js";

const BLOCK = 4000; // characters; the browser lays out only blocks that are near

function blocksOf(text) {
  const starts = [0];
  while (text.length - starts.at(-1) > BLOCK) {
    const end = text.indexOf("\n", starts.at(-1) + BLOCK);
    if (end < 0) break;
    starts.push(end + 1);
  }
  return starts;
}

export class TextView {
  constructor(view) {
    this.view = view;
  }

  // Marks have start, end, name and place of their reader, and whether they are only a guess.
  show(name, text, marks) {
    this.view.setAttribute("aria-label", `Text of ${name}`);
    const starts = blocksOf(text);
    const blocks = starts.map((start, number) => {
      const end = starts[number + 1] ?? text.length;
      const inside = marks.filter((mark) => mark.start < end && mark.end > start);
      return element("div", { class: "block" }, ...pieces(text, start, end, inside));
    });
    this.view.replaceChildren(...blocks);
  }

  scrollTo(start) {
    const mark = this.view.querySelector(`mark[data-start="${start}"]`);
    // Twice: blocks have their real height only when they are near. Only the text scrolls.
    const move = () => {
      if (!mark) return;
      const above = mark.getBoundingClientRect().top - this.view.getBoundingClientRect().top;
      this.view.scrollTop += above - this.view.clientHeight / 3;
    };
    requestAnimationFrame(() => {
      move();
      requestAnimationFrame(move);
    });
  }
}

// Marks may overlap: the text is cut wherever one begins or ends.
function pieces(text, start, end, marks) {
  const cuts = new Set([start, end]);
  for (const mark of marks) {
    cuts.add(Math.max(mark.start, start));
    cuts.add(Math.min(mark.end, end));
  }
  const places = [...cuts].sort((a, b) => a - b);
  return places.slice(0, -1).map((from, number) => {
    const piece = text.slice(from, places[number + 1]);
    const here = marks.filter((mark) => mark.start <= from && mark.end > from);
    if (!here.length) return piece;
    const made = element("mark", { text: piece, "data-start": here[0].start });
    made.title = here.map((mark) => mark.name).join(", ");
    made.classList.add(here.length > 1 ? "shared" : `reader-${here[0].number % 6}`);
    made.classList.toggle("guess", here.every((mark) => mark.guess));
    return made;
  });
}
