"use strict";
// The data of the page, read once, and functions that the other scripts share.
const reportData = JSON.parse(document.getElementById("report-data").textContent);

function pageElement(name, properties, ...children) {
  const one = Object.assign(document.createElement(name), properties);
  one.append(...children);
  return one;
}

// Return light or dark: by the reader's switch, otherwise by preference.
function pageTheme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

// Write rows as CSV; text that a spreadsheet would read as a formula stays text.
function pageCsv(rows) {
  const quoted = (value) => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? "'" + value : String(value);
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return rows.map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}

// Open all folded parts around an element, and the element itself if it is a topic.
function pageReveal(place) {
  for (let one = place; one; one = one.parentElement) if (one.localName === "details") one.open = true;
  const topic = place.classList.contains("topic") && place.querySelector(":scope > details");
  if (topic) topic.open = true;
}

// The layers' table of a run; its id, or that of any other place of the run, says which run.
function pageLayers(id) { return reportData.tables[/^(run-\d+-)?/.exec(id)[0] + "table-layers"]; }

// The row of a layer, by its name where only that is known; -1 for none.
function pageRow(id, name, row) {
  const names = pageLayers(id)?.columns.find((one) => one.title === "Layer");
  if (!names || row !== undefined) return names && row >= 0 ? row : -1;
  if (!name) return -1;
  return names.words ? names.at.indexOf(names.words.indexOf(name)) : names.values.indexOf(name);
}

// Notify all parts of the page that the reader selected a layer, by its row or by its name.
function pageSelect(id, name, row, from = "chart") {
  const place = pageRow(id, name, row);
  if (place < 0) return;
  const names = pageLayers(id).columns.find((one) => one.title === "Layer");
  reportData.chosen = { prefix: /^(run-\d+-)?/.exec(id)[0], row: place, name: pageValue(names, place), from };
  document.dispatchEvent(new CustomEvent("layer", { detail: reportData.chosen }));
  const layer = pageValue(pageLayers(id).columns.find((one) => one.title === "#"), place);
  if (from !== "graph") document.dispatchEvent(new CustomEvent("enginescope:select", { detail: { layer, from, prefix: reportData.chosen.prefix } }));
}

// The row of a layer by its place in the plan; -1 for none.
function pageRowOf(id, layer) {
  const places = pageLayers(id)?.columns.find((one) => one.title === "#");
  return places ? (places.values ?? places.at.map((one) => places.words[one])).indexOf(layer) : -1;
}

document.addEventListener("enginescope:select", ({ detail }) => {
  if (detail.from === "graph") pageSelect(detail.prefix, null, pageRowOf(detail.prefix, detail.layer), "graph");
});

function pageValue({ words, at, values }, row) { return words ? words[at[row]] : values[row]; }

// A cell of a table as it is shown.
function pageCell(column, row) {
  const value = pageValue(column, row);
  if (column.places === null) return value ?? "";
  if (value === null) return "—";
  const needed = value && column.digits && Number.isFinite(value) ? column.digits - 1 - Math.floor(Math.log10(Math.abs(value))) : 0;
  const places = Math.min(Math.max(column.places, needed), 12);
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}

// What is known of a layer: titles and texts of its row, but those that are said elsewhere.
function pageFacts(id, row, said = []) {
  const left = new Set(said), known = (pageLayers(id)?.columns ?? []).filter((one) => !left.has(one.title) && pageValue(one, row) !== null);
  return known.map((one) => [one.title, pageCell(one, row)]);
}

async function pageInflate(base64) {
  const text = atob(base64.trim()), bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}

// A layer's fields in the plan, by its row; undefined where the page leaves them out.
async function pageFields(id, row) {
  const place = document.getElementById(/^(run-\d+-)?/.exec(id)[0] + "layer-fields");
  if (!place) return undefined;
  place.found ??= pageInflate(place.content.textContent).then((one) => one.json());
  return (await place.found)[row];
}

// Names that fit: the part that siblings share is left out, and names that differ look different.
// The same rule as render/base/short_names.py; a map of those that are too long.
function pageShorten(texts, limit) {
  const cut = (text, room, head) => text.slice(0, head) + "…" + text.slice(text.length - (room - 1 - head));
  const middle = (text, room) => (text.length <= room ? text : cut(text, room, Math.floor(room / 2)));
  const numbered = (text, number) => middle(text, Math.max(1, limit - (" #" + number).length)) + " #" + number;
  const whole = [...new Set(texts)].filter((one) => one !== null), long = whole.filter((one) => one.length > limit);
  const short = new Map(long.map((one) => [one, middle(one, limit)])), alike = new Map();
  for (const [one, text] of short) {
    if (!alike.has(text)) alike.set(text, []);
    alike.get(text).push(one);
  }
  const apart = (group) => {
    const heads = Array.from({ length: limit }, (_, at) => at).sort((a, b) => Math.abs(a - Math.floor(limit / 2)) - Math.abs(b - Math.floor(limit / 2)));
    const differ = (found) => new Set(found).size === group.length;
    for (const head of heads) {
      const found = group.map((one) => cut(one, limit, head));
      if (differ(found)) return found;
    }
    const least = Math.min(...group.map((one) => one.length)), begin = Math.floor(limit / 4);
    let first = 0;
    while (first < least && group.every((one) => one[first] === group[0][first])) first += 1;
    const start = Math.max(begin, (first === least ? 0 : first) - 10);
    const found = group.map((one) => one.slice(0, begin) + "…" + one.slice(start, start + limit - begin - 2) + "…");
    return differ(found) ? found : group.map((one, at) => numbered(one, at + 1));
  };
  for (const group of alike.values()) if (group.length > 1) apart(group).forEach((text, at) => short.set(group[at], text));
  const taken = new Set(whole.filter((one) => one.length <= limit));
  for (const one of long) {
    for (let number = 2; taken.has(short.get(one)); number++) short.set(one, numbered(one, number));
    taken.add(short.get(one));
  }
  return short;
}

// Copies a text, and says so on the button.
async function pageCopy(text, button) {
  const was = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // a page of a server without TLS has no clipboard
    const field = pageElement("textarea", { value: text });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = was; }, 1200);
}
