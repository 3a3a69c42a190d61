"use strict";
// The data of the page, inflated once, and functions that the other scripts share.
let reportData = { tables: {} };
const pageRead = pageInflate("report-data").then((one) => one.json()).then((data) => { reportData = data; });
pageRead.catch((error) => { for (const one of document.querySelectorAll(".vis")) one.textContent = `This browser cannot read the page's data: ${error.message}`; });

// Start a part of the page when its data are there, after the parts before it.
function pageStart(start) { pageRead.then(start); }

function pageElement(name, properties, ...children) {
  const one = Object.assign(document.createElement(name), properties);
  one.append(...children);
  return one;
}

function pageButton(textContent, act, more) {
  const one = pageElement("button", { type: "button", textContent, ...more });
  one.addEventListener("click", () => act(one));
  return one;
}

// A list of titles and texts.
function pageList(pairs, properties) {
  const line = ([name, text]) => pageElement("div", {}, pageElement("dt", { textContent: name }), pageElement("dd", { textContent: text }));
  return pageElement("dl", properties, ...pairs.map(line));
}

// Colors of canvases: a part of the way from one to another, and the ink that is read on one.
function pageChannels(hex) { return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)); }
function pageMixed(from, to, part) {
  const end = pageChannels(to);
  return "#" + pageChannels(from).map((one, at) => Math.round(one + (end[at] - one) * part).toString(16).padStart(2, "0")).join("");
}
function pageInk(hex) {
  const [r, g, b] = pageChannels(hex).map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
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

// Save data of the page as a file.
function pageSave(name, data) {
  const link = pageElement("a", { download: name, href: URL.createObjectURL(data) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Open the tab and all folded parts around an element.
function pageReveal(place) {
  for (let one = place; one; one = one.parentElement) if (one.localName === "details") one.open = true;
  const tab = place.closest(".tab");
  if (tab) pageOpenTab(tab);
}

// Show one tab of a run. All tabs are hidden by the style sheet but the open one; paper has all.
function pageOpenTab(tab) {
  const article = tab.closest("article"), tabs = [...article.querySelectorAll(".tab")], links = article.querySelectorAll(".tabs a");
  for (const [at, one] of tabs.entries()) {
    one.classList.toggle("open", one === tab);
    if (one === tab) links[at].setAttribute("aria-current", "true"); else links[at].removeAttribute("aria-current");
  }
  document.dispatchEvent(new Event("tab"));
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
}

function pageValue({ words, at, values }, row) { return words ? words[at[row]] : values[row]; }

// A cell of a table as it is shown. To make a format takes longer than to use it a hundred times.
const pageFormats = new Map();
function pageCell(column, row) {
  const value = pageValue(column, row);
  if (column.places === null) return value ?? "";
  if (value === null) return "—";
  const needed = value && column.digits && Number.isFinite(value) ? column.digits - 1 - Math.floor(Math.log10(Math.abs(value))) : 0;
  const places = Math.min(Math.max(column.places, needed), 12);
  if (!pageFormats.has(places)) pageFormats.set(places, new Intl.NumberFormat("en-US", { minimumFractionDigits: places, maximumFractionDigits: places }));
  return pageFormats.get(places).format(value);
}

// What is known of a layer: titles and texts of its row, but those that are said elsewhere; units of times may differ.
function pageFacts(id, row, said = []) {
  const bare = (title) => title.replace(/ (ms|µs)$/, ""), left = new Set(said.map(bare));
  const known = (pageLayers(id)?.columns ?? []).filter((one) => !left.has(bare(one.title)) && pageValue(one, row) !== null);
  return known.map((one) => [one.title, pageCell(one, row)]);
}

// A column of the layers' table by its key, and the titles and texts of several; times have their unit in the text.
function pageColumn(id, key) { return pageLayers(id)?.columns.find((one) => one.key === key); }
function pageKnown(id, row, keys) {
  const columns = keys.map((key) => pageColumn(id, key)).filter((one) => one && pageValue(one, row) !== null);
  return columns.map((one) => {
    const [, title, unit] = /^(.*?)( ms| µs)?$/.exec(one.title);
    return [title, unit ? pageMs(pageTimes(id, one.key)[row]) : pageCell(one, row)];
  });
}

// Milliseconds of a column of times by row, NaN where unknown; undefined for a column that is not there.
const pageMilliseconds = new Map();
function pageTimes(id, key) {
  const column = pageColumn(id, key);
  if (column && !pageMilliseconds.has(column)) {
    const unit = column.title.endsWith("µs") ? 1e-3 : 1;
    pageMilliseconds.set(column, Float64Array.from(column.values, (one) => (one === null ? NaN : one * unit)));
  }
  return pageMilliseconds.get(column);
}
function pageMs(ms, precision = 3) {
  if (Number.isNaN(ms)) return "not known";
  if (ms >= 10000) return Math.round(ms / 1000).toLocaleString("en-US") + " s";
  const digits = (value) => (value >= 10 ** (precision - 1) ? Math.round(value).toLocaleString("en-US") : Number(value.toPrecision(precision)).toString());
  return ms > 0 && ms < 1 ? digits(1000 * ms) + " µs" : digits(ms) + " ms";
}
function pageShare(part, whole) { return Number(((100 * part) / whole).toPrecision(2)) + " %"; }
// A fact in words: times and bytes with their units, which the title names otherwise.
function pageWorded([title, text]) {
  const [, what, unit] = /^(.*?),? (ms|µs|MiB|bytes)$/.exec(title) ?? [], value = Number(String(text).replaceAll(",", ""));
  if (!unit || Number.isNaN(value)) return [title, text];
  if (what?.toLowerCase().startsWith("time")) return [what, pageMs(unit === "ms" ? value : value / 1000, 4)];
  if (unit === "ms" || unit === "µs") return [what, `${Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 9 })} ${unit}`];
  const bytes = unit === "MiB" ? value * 2 ** 20 : value, step = bytes < 1024 ? 0 : bytes < 2 ** 20 ? 1 : 2;
  return [what, Number((bytes / 1024 ** step).toPrecision(3)).toLocaleString("en-US") + [" B", " KiB", " MiB"][step]];
}
function pageCount(count, noun) { return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`; }

// The tooltip: text only, and the page's styles of tables do not apply. Without pairs it hides.
const pageTipBox = pageElement("dl", { className: "tip", hidden: true });
document.body.append(pageTipBox);
addEventListener("scroll", () => { pageTipBox.hidden = true; }, { passive: true });
function pageTip({ clientX: x, clientY: y }, pairs) {
  const tip = pageTipBox;
  tip.hidden = !pairs;
  if (tip.hidden) return;
  tip.replaceChildren(...pageList(pairs).children);
  const { offsetWidth: width, offsetHeight: height } = tip;
  tip.style.left = Math.max(4, x + 14 + width > innerWidth ? x - width - 14 : x + 14) + "px";
  tip.style.top = Math.max(4, y + 14 + height > innerHeight ? y - height - 10 : y + 14) + "px";
}

// What an element of the page holds, deflated, as a response to read.
async function pageInflate(id) {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot inflate it; one of 2023 or later can");
  const text = atob(document.getElementById(id).content.textContent.trim()), bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}

// Nested data with arrays of numbers, as render/graph/view/canvas.py packs it; unpacked when first asked for.
const PAGE_ARRAYS = { u1: Uint8Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array };
function pageContainer(id) { return (document.getElementById(id).found ??= pageUnpacked(id)); }
async function pageUnpacked(id) {
  const buffer = await (await pageInflate(id)).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const json = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  // A reviver of JSON.parse would be called for each of thousands of strings.
  const revived = (value) => {
    if (value === null || typeof value !== "object" || typeof value[0] === "string") return value;
    if ("$" in value) {
      const made = new PAGE_ARRAYS[value.$](buffer, 4 + length + value.at, value.n);
      if (value.$ === "u4" || value.$ === "i4") for (let at = 1; at < made.length; at++) made[at] += made[at - 1];
      return made;
    }
    for (const key of Object.keys(value)) value[key] = revived(value[key]);
    return value;
  };
  return revived(JSON.parse(json));
}

// A layer's fields in the plan, by its row; undefined where the page leaves them out.
async function pageFields(id, row) {
  const place = document.getElementById(/^(run-\d+-)?/.exec(id)[0] + "layer-fields");
  if (!place) return undefined;
  place.found ??= pageInflate(place.id).then((one) => one.json());
  return (await place.found)[row];
}

// Names that fit: the part that siblings share is left out, and names that differ look different.
// The same rule as render/base/short_names.py; a map of those that are too long.
function pageShorten(texts, limit) {
  const cut = (text, room, head) => text.slice(0, head) + "…" + text.slice(text.length - (room - 1 - head));
  const middle = (text, room) => (text.length <= room ? text : cut(text, room, Math.floor(room / 2)));
  const numbered = (text, number) => middle(text, Math.max(1, limit - (" #" + number).length)) + " #" + number;
  // A fused layer's name has the path of its operators once, and loses its end.
  const pathOnce = (text) => {
    const operators = text.split(" + ").map((one) => one.split("/")), least = Math.min(...operators.map((one) => one.length - 1));
    let shared = 0;
    while (shared < least && operators.every((one) => one[shared] === operators[0][shared])) shared += 1;
    const path = operators[0].slice(0, shared).filter((step, at, all) => step && !all[at + 1]?.startsWith(step + ".")).join("/");
    return path && operators.length > 1 ? `${path}: ${operators.map((one) => one.slice(shared).join("/")).join(" + ")}` : text;
  };
  const whole = [...new Set(texts)].filter((one) => one !== null), long = whole.filter((one) => one.length > limit);
  const said = new Map(long.map((one) => [one, pathOnce(one)])), short = new Map(said), alike = new Map();
  for (const [one, text] of said) {
    if (text.length <= limit) continue;
    const cutText = text === one ? middle(one, limit) : text.slice(0, limit - 1) + "…";
    short.set(one, cutText);
    if (!alike.has(cutText)) alike.set(cutText, []);
    alike.get(cutText).push(one);
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
  for (const group of alike.values()) if (group.length > 1) apart(group.map((one) => said.get(one))).forEach((text, at) => short.set(group[at], text));
  const taken = new Set(whole.filter((one) => one.length <= limit));
  for (const one of long) {
    for (let number = 2; taken.has(short.get(one)); number++) short.set(one, numbered(said.get(one), number));
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
