// Elements and texts. Texts are always set as text, never as HTML.

export function element(name, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function button(text, action, attributes = {}) {
  const made = element("button", { type: "button", text, ...attributes });
  made.addEventListener("click", action);
  return made;
}

// A text from right to left must not reorder the words around it.
export const isolated = (text) => `\u2068${text}\u2069`;
export const percent = (share) => `${Math.round(100 * share)} %`;

// The server counts code points; JavaScript counts UTF-16 units.
export function units(text, points, from = 0) {
  let at = from;
  for (let left = points; left > 0 && at < text.length; left -= 1) {
    at += text.codePointAt(at) > 0xffff ? 2 : 1;
  }
  return at;
}
