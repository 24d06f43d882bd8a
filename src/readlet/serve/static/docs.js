// The API, as its OpenAPI schema describes it; requests with JSON can be tried.

import { keepKey, request } from "./api.js";
import { button, element } from "./elements.js";

const byId = (id) => document.getElementById(id);
let schemas = {};

const named = (schema) => (schema.$ref ? schemas[schema.$ref.split("/").pop()] : schema);

function typeOf(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return schema.type === "null" ? "nothing" : (schema.type ?? "anything");
}

function inside(schema) {
  if (schema.$ref) return [schema];
  return [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])].flatMap(inside);
}

// A table of the fields, required ones of a request first, and one for each kind of object in them.
function fields(schema, isRequest) {
  const found = named(schema);
  const required = isRequest ? (found.required ?? []) : [];
  const entries = Object.entries(found.properties ?? {});
  entries.sort(([a], [b]) => required.includes(b) - required.includes(a));
  const rows = entries.map(([name, field]) => {
    const must = required.includes(name) ? "required" : "";
    const about = [must, field.description].filter(Boolean).join(". ");
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, element("code", { text: name })),
      element("td", { text: typeOf(field) }),
      element("td", { text: about }),
    );
  });
  const nested = inside(schema).filter((one) => one !== schema);
  for (const one of [...nested, ...entries.flatMap(([, field]) => inside(field))]) {
    const title = element("summary", { text: typeOf(one) });
    rows.push(element("details", {}, title, ...fields(one, isRequest)));
  }
  if (!entries.length) return [element("p", { text: typeOf(schema) }), ...rows];
  const table = element("table", {}, ...rows.slice(0, entries.length));
  return [table, ...rows.slice(entries.length)];
}

function trial(path, schema) {
  const [example] = named(schema).examples ?? [{}];
  const body = element("textarea", { "aria-label": `Body of a request to ${path}`, spellcheck: "false" });
  body.value = JSON.stringify(example, null, 2);
  const shown = element("pre", { tabindex: "0", "aria-label": "Response", hidden: "" });
  const send = button("Send", async () => {
    shown.hidden = false;
    try {
      shown.textContent = JSON.stringify(await request(path, { json: JSON.parse(body.value) }), null, 2);
    } catch (error) {
      shown.textContent = error.message;
    }
  }, { class: "primary" });
  return element("details", {}, element("summary", { text: "Try it" }), body, send, shown);
}

function operation(path, method, { description, requestBody, responses, parameters = [] }) {
  const title = element("h2", {}, element("span", { class: "method", text: method.toUpperCase() }), " ");
  title.append(element("code", { text: path }));
  const parts = [title, element("p", { text: description ?? "" })];
  for (const { name, schema } of parameters) {
    parts.push(element("p", {}, element("code", { text: `?${name}=` }), ` ${(schema.enum ?? [typeOf(schema)]).join(", ")}`));
  }
  const content = requestBody?.content ?? {};
  const json = content["application/json"]?.schema;
  if (json) parts.push(element("h3", { text: "Request" }), ...fields(json, true));
  else if (requestBody) parts.push(element("p", { text: `Body: ${Object.keys(content).join(", ")}` }));
  const answer = responses["200"].content?.["application/json"]?.schema;
  if (answer) parts.push(element("h3", { text: "Response" }), ...fields(answer, false));
  const errors = Object.entries(responses).filter(([status]) => status >= 400);
  if (errors.length) {
    const text = errors.map(([status, one]) => `${status} ${one.description}`).join(" · ");
    parts.push(element("p", { class: "hint", text: `Errors, with a reason: ${text}` }));
  }
  if (json) parts.push(trial(path, json));
  return element("section", { class: "panel" }, ...parts);
}

async function begin() {
  try {
    const found = await request("/openapi.json");
    schemas = found.components.schemas;
    const listed = Object.entries(found.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => [path, method, one]),
    );
    listed.sort(([, a], [, b]) => (b === "post") - (a === "post"));
    const all = listed.map((one) => operation(...one));
    byId("paths").replaceChildren(...all);
    byId("key-form").hidden = true;
    byId("status").textContent = "";
  } catch (error) {
    byId("key-form").hidden = error.status !== 401;
    byId("status").textContent = error.message;
  }
}

byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepKey(byId("key").value);
  begin();
});
begin();
