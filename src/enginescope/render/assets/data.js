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

// Notify all parts of the page that the reader selected a layer, by its name.
function pageSelect(from, name) {
  if (!name) return;
  const prefix = /^(run-\d+-)?/.exec(from)[0];
  const table = reportData.tables[prefix + "table-layers"], names = table?.columns.find((one) => one.title === "Layer");
  if (!names) return;
  const row = names.words ? names.at.indexOf(names.words.indexOf(name)) : names.values.indexOf(name);
  if (row >= 0) document.dispatchEvent(new CustomEvent("layer", { detail: { prefix, row, name } }));
}
