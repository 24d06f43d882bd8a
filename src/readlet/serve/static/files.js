// Files and folders, chosen or dropped, and their texts.

import { request } from "./api.js";

async function inEntry(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ name: entry.fullPath.replace(/^\//, ""), file }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    // A folder is listed a hundred entries at a time.
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) break;
    for (const inside of some) found.push(...(await inEntry(inside)));
  }
  return found;
}

export async function dropped(transfer) {
  // Before the first pause: the list is empty afterwards.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return chosen(transfer.files);
  return (await Promise.all(entries.map(inEntry))).flat();
}

export function chosen(files) {
  return [...files].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
}

const isHidden = (name) => name.split("/").some((part) => part.startsWith("."));

// Reads one after the other; `note` hears of each, and of those that are left out.
export async function readAll(files, { kinds, limits }, note) {
  const read = [];
  const wanted = files.filter(({ name }) => !isHidden(name));
  wanted.sort((a, b) => a.name.localeCompare(b.name));
  for (const [number, { name, file }] of wanted.entries()) {
    note.reading(`Reading ${number + 1} of ${wanted.length}: ${name}`);
    const kind = kinds[`.${name.split(".").pop().toLowerCase()}`];
    if (!kind) {
      note.leftOut(name, "its kind cannot be read");
    } else if (file.size > limits.body_bytes) {
      note.leftOut(name, `more than ${Math.round(limits.body_bytes / 1e6)} MB`);
    } else {
      try {
        read.push({ name, ...(await request(`/text?kind=${kind}`, { body: file })) });
      } catch (error) {
        if (error.status === 401 || error.status === 0) throw error;
        note.leftOut(name, error.message.replace(/^the file: /, ""));
      }
    }
  }
  return read;
}
