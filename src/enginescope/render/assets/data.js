"use strict";
// What the page shows, read once, and what its other scripts share.
const reportData = JSON.parse(document.getElementById("report-data").textContent);

function pageElement(name, properties, ...children) {
  const one = Object.assign(document.createElement(name), properties);
  one.append(...children);
  return one;
}

// Light or dark: by the reader's switch, else by preference.
function pageTheme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

// Rows as CSV; what a spreadsheet would take for a formula stays text.
function pageCsv(rows) {
  const quoted = (value) => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? "'" + value : String(value);
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return rows.map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}

// Opens whatever is folded around a place, and the topic that it is.
function pageReveal(place) {
  for (let one = place; one; one = one.parentElement) if (one.localName === "details") one.open = true;
  const topic = place.classList.contains("topic") && place.querySelector(":scope > details");
  if (topic) topic.open = true;
}

// Tells every part of the page that a reader has chosen a layer, by its name.
function pageSelect(from, name) {
  if (!name) return;
  const prefix = /^(run-\d+-)?/.exec(from)[0];
  const table = reportData.tables[prefix + "table-layers"], names = table?.columns.find((one) => one.title === "Layer");
  if (!names) return;
  const row = names.words ? names.at.indexOf(names.words.indexOf(name)) : names.values.indexOf(name);
  if (row >= 0) document.dispatchEvent(new CustomEvent("layer", { detail: { prefix, row, name } }));
}
