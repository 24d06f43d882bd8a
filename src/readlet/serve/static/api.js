// Requests to the server. Errors carry the reason that the server gives.

const KEY = "readlet-key";

export class Refusal extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

export const keepKey = (key) => sessionStorage.setItem(KEY, key);

export async function request(path, { body, json, signal } = {}) {
  const headers = {};
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (json) headers["Content-Type"] = "application/json";
  else if (body) headers["Content-Type"] = "application/octet-stream";
  const content = json ? JSON.stringify(json) : body;
  const method = content === undefined ? "GET" : "POST";
  let response;
  try {
    response = await fetch(path, { method, headers, body: content, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "the server does not answer; is it still running?");
  }
  if (response.ok) return response.json();
  const found = await response.json().catch(() => ({}));
  throw new Refusal(response.status, found.reason ?? `the server answered ${response.status}`);
}
