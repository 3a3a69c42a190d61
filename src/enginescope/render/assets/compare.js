"use strict";
// Pairs of layers: two columns on one scale; changed pairs first, the others folded.
let pairList = null;
pageStart(() => {
  const pairs = reportData.pairs, box = document.getElementById("pairs");
  if (!pairs || !box) return;
  const ROW = 44, MARGIN = 8;
  const columns = pairs.columns;
  const list = box.querySelector(".pair-list"), detail = box.querySelector(".pair-detail");
  const select = document.getElementById("pairs-filter"), same = document.getElementById("pairs-same");
  const search = box.querySelector("input[type=search]"), output = box.querySelector(".tools output");
  const inner = document.createElement("div");
  list.append(inner);

  function value(name, row) {
    const { words, at, values } = columns[name];
    return words ? words[at[row]] : values[row];
  }
  function element(name, text, className) {
    const one = document.createElement(name);
    if (text !== undefined) one.textContent = text;
    if (className) one.className = className;
    return one;
  }
  const counted = (count, noun) => count.toLocaleString("en-US") + " " + noun + (count === 1 ? "" : "s");
  function number(amount, places, signed) {
    if (amount === null) return "—";
    const text = Math.abs(amount).toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
    if (!/[1-9]/.test(text)) return text;
    return (amount < 0 ? "−" : signed ? "+" : "") + text;
  }

  // Use one scale and one number of decimals for both columns.
  let longest = 0, unfolded = 0;
  for (let row = 0; row < pairs.length; row++) {
    longest = Math.max(longest, value("a_ms", row) ?? 0, value("b_ms", row) ?? 0);
    unfolded += value("is_shown", row);
  }
  const places = longest > 0 ? Math.min(9, Math.max(0, 3 - Math.floor(Math.log10(longest)))) : 4;

  // The choices: all pairs, differing pairs, or one type of layer.
  const tests = new Map([
    ["all", () => true],
    ["precision", (row) => hasChange(row, "precision")],
    ["tactic", (row) => hasChange(row, "tactic")],
    ["format", (row) => hasChange(row, "format")],
    ["fused", (row) => ["split", "merged", "regrouped"].includes(value("relation", row))],
    ["alone", (row) => value("relation", row).startsWith("only")],
  ]);
  const titles = {
    all: "all", precision: "precision", tactic: "tactic", format: "format",
    fused: "what is fused", alone: "whether they are there",
  };
  function hasChange(row, what) {
    return (value("changes", row) ?? "").split(";").includes(what);
  }
  function typesOf(row) {
    return [value("a_type", row), value("b_type", row)].filter((one) => one !== null)
      .flatMap((one) => one.split(" + ")).map((one) => one.replace(/^\d+ /, ""));
  }
  const types = new Set();
  for (let row = 0; row < pairs.length; row++) for (const one of typesOf(row)) types.add(one);
  const groups = { differ: "that differ in", type: "of a type", reason: "of one reason" };
  for (const one of [...types].sort()) tests.set("type " + one, (row) => typesOf(row).includes(one));
  pairs.steps.forEach(([text], step) => tests.set("reason " + text, (row) => value("step", row) === step));
  for (const [key, test] of tests) {
    let count = 0;
    for (let row = 0; row < pairs.length; row++) if (test(row)) count++;
    const [, kind, name] = key.match(/^(type|reason) (.*)$/s) ?? [null, "differ", titles[key]];
    if (!count && kind !== "reason") { tests.delete(key); continue; }
    const option = element("option", name + " (" + count.toLocaleString("en-US") + ")");
    option.value = key;
    group(key === "all" ? null : groups[kind]).append(option);
  }
  function group(label) {
    if (label === null) return select;
    const found = [...select.children].find((one) => one.label === label && one.tagName === "OPTGROUP");
    if (found) return found;
    const made = element("optgroup");
    made.label = label;
    select.append(made);
    return made;
  }
  if (pairs.only) select.value = tests.has(pairs.only) ? pairs.only : tests.has("type " + pairs.only) ? "type " + pairs.only : "all";
  const folded = pairs.length - unfolded;
  same.nextElementSibling.textContent = "with " + counted(folded, "unchanged pair");
  same.parentElement.hidden = folded === 0;
  same.checked = unfolded === 0;

  let texts = null;
  const TEXTS = ["a_name", "b_name", "a_type", "b_type", "a_tactic", "b_tactic", "differs", "a_inputs", "b_inputs", "a_outputs", "b_outputs"];
  function textOf(row) {
    texts ??= new Array(pairs.length);
    return (texts[row] ??= TEXTS.map((name) => value(name, row) ?? "").join("\n").toLowerCase());
  }

  // `isWhole`: select a reason as a whole, and no single pair.
  let shown = [], chosen = null;
  function filter(isWhole) {
    const test = tests.get(select.value) ?? tests.get("all"), wanted = search.value.trim().toLowerCase();
    const isReason = select.value.startsWith("reason ");
    shown = [];
    for (let row = 0; row < pairs.length; row++) {
      if ((same.checked || isReason || value("is_shown", row)) && test(row) && (!wanted || textOf(row).includes(wanted))) shown.push(row);
    }
    list.scrollTop = 0;
    if (isWhole === true) choose(null);
    else choose(shown.includes(chosen) ? chosen : shown.length ? shown[0] : null);
    draw();
  }
  // Rows that the graphs emphasize; null without a filter.
  const picked = () => (select.value === "all" && !search.value.trim() ? null : shown);

  function line(at) {
    const row = shown[at], one = element("div", undefined, "pair-row");
    one.style.top = at * ROW + "px";
    one.id = "pair-" + row;
    one.setAttribute("role", "option");
    one.setAttribute("aria-selected", String(row === chosen));
    one.setAttribute("aria-posinset", at + 1);
    one.setAttribute("aria-setsize", shown.length);
    const a = value("a_name", row), b = value("b_name", row), name = element("span", a ?? b);
    name.title = a === null || b === null || a === b ? a ?? b : "A: " + a + "\nB: " + b;
    const types = [...new Set([value("a_type", row), value("b_type", row)].filter((kind) => kind !== null))].join(" → ");
    name.append(element("small", a === null || b === null || a === b ? types : types + " · in B: " + b));
    one.append(name, time("a_ms", row), time("b_ms", row));
    one.append(element("span", number(value("difference_ms", row), places, true)));
    one.append(element("span", number(value("share_pct", row), 1)));
    const differs = element("span", value("differs", row));
    differs.title = value("differs", row);
    one.append(differs);
    return one;
  }
  function time(name, row) {
    const amount = value(name, row), cell = element("span", number(amount, places), "time");
    if (amount !== null && longest > 0) cell.style.setProperty("--part", (100 * amount) / longest + "%");
    return cell;
  }
  function draw() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - MARGIN);
    const last = Math.min(shown.length, first + Math.ceil(list.clientHeight / ROW) + 2 * MARGIN);
    const lines = [];
    for (let at = first; at < last; at++) lines.push(line(at));
    if (!shown.length) lines.push(element("p", "No pair of layers is like that.", "pair-empty"));
    inner.style.height = shown.length * ROW + "px";
    inner.replaceChildren(...lines);
    if (chosen !== null) list.setAttribute("aria-activedescendant", "pair-" + chosen);
    else list.removeAttribute("aria-activedescendant");
    output.textContent = shown.length.toLocaleString("en-US") + " of " + counted(pairs.length, "pair");
  }

  // Show one pair side by side. Each build names layers and tensors: mark only what the changes
  // name, because kernels that differ only in a hash are the same.
  const FORM = ["shapes", "batch", "precision", "format"];
  const FACTS = [
    ["layer", "name", []], ["type", "type", ["kind"]], ["time, ms", "ms"], ["precision of the first input", "precision_in"],
    ["precision of the first output", "precision_out"], ["tactic", "tactic", ["tactic"]], ["inputs", "inputs", FORM],
    ["outputs", "outputs", FORM], ["ONNX nodes", "onnx_nodes"],
  ];
  function choose(row) {
    chosen = row;
    detail.replaceChildren();
    if (row !== null) detail.append(...factsOf(row));
    document.dispatchEvent(new CustomEvent("pair", { detail: { row, rows: picked() } }));
  }
  function factsOf(row) {
    const table = element("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    for (const text of ["", "A", "B"]) head.append(element("th", text));
    for (const [title, name, changes] of FACTS) {
      const sides = ["a_", "b_"].map((side) => value(side + name, row));
      if (sides.every((one) => one === null || one === "")) continue;
      const line = body.insertRow();
      const alone = value("relation", row).startsWith("only");
      const differs = changes ? changes.some((what) => hasChange(row, what)) : sides[0] !== sides[1];
      if (!alone && differs) line.className = "differs";
      line.append(element("th", title));
      for (const one of sides) line.append(fact(one));
    }
    const why = value("why", row), score = value("share_pct", row);
    const parts = [why === null ? null : "paired by " + why, "differs in: " + value("differs", row)];
    if (value("difference_ms", row) !== null) parts.push(number(value("difference_ms", row), places + 1, true) + " ms");
    if (score !== null) parts.push(number(score, 1) + " % of the difference");
    if (value("speedup", row) !== null) parts.push("A ÷ B " + number(value("speedup", row), 2));
    const scroll = element("div", undefined, "scroll");
    scroll.append(table);
    return [element("h3", value("a_name", row) ?? value("b_name", row)), element("p", parts.filter(Boolean).join(" · "), "quiet"), scroll];
  }
  function fact(one) {
    if (typeof one === "number") return element("td", number(one, 6));
    const cell = element("td");
    (one ?? "—").split(/; ?/).forEach((part, at) => {
      if (at) cell.append(element("br"));
      cell.append(part);
    });
    return cell;
  }

  function move(to) {
    const at = Math.max(0, Math.min(shown.length - 1, to));
    if (!shown.length) return;
    choose(shown[at]);
    scrollTo(at);
  }
  function scrollTo(at) {
    if (at * ROW < list.scrollTop) list.scrollTop = at * ROW;
    if ((at + 1) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (at + 1) * ROW - list.clientHeight;
    draw();
  }
  list.addEventListener("keydown", (event) => {
    const at = shown.indexOf(chosen), page = Math.floor(list.clientHeight / ROW);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: shown.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  });
  list.addEventListener("click", (event) => {
    const row = event.target.closest(".pair-row");
    if (row) { choose(Number(row.id.slice(5))); draw(); }
  });
  let waiting = false;
  list.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  });
  for (const one of [select, same]) one.addEventListener("change", () => filter());
  search.addEventListener("input", () => filter());
  // The reader selected a layer in a graph.
  document.addEventListener("pick", ({ detail: { row } }) => {
    choose(row);
    if (shown.includes(row)) scrollTo(shown.indexOf(row)); else draw();
  });
  for (const one of document.querySelectorAll(".without-script")) one.style.display = "none";
  box.hidden = false;
  const asked = Number(/^#layers\?pair=(\d+)$/.exec(location.hash)?.[1] ?? NaN);
  if (asked < pairs.length) chosen = asked;
  filter();
  pairList = {
    get row() { return chosen; },
    get rows() { return picked(); },
    get shown() { return shown; },
    value, counted, number: (amount) => number(amount, places, true), go: move,
    // List the pairs of a filter; null lists all changes.
    only(key) {
      search.value = "";
      select.value = key === null ? "all" : key;
      filter(key !== null);
    },
  };
});
