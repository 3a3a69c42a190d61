"use strict";
// The selected layer's panel, the list of where to look, one search over the page, and its keys.
pageStart(() => {
  const FACTS = ["time", "raw", "distance", "limit", "lost", "bound", "precision", "tactic", "nodes"], FEW = 4, HITS = 8;

  // The graph's data; null for a run without a graph.
  async function graphOf(prefix) {
    const id = prefix + "graph-data";
    return document.getElementById(id) ? pageContainer(id) : null;
  }

  class Panel {
    constructor(article) {
      this.prefix = article.dataset.prefix;
      this.article = article;
      this.place = article.querySelector(".where .panel");
      this.lines = [...article.querySelectorAll(".where tr[data-row]")];
      for (const line of this.lines) line.addEventListener("click", () => pageSelect(this.prefix, null, Number(line.dataset.row), "look"));
      document.addEventListener("layer", ({ detail }) => { if (detail.prefix === this.prefix) this.show(detail.row); });
      if (this.lines.length) this.show(Number(this.lines[0].dataset.row));
    }

    show(row) {
      const { prefix, place } = this, [[, name], ...facts] = pageKnown(prefix, row, ["name", ...FACTS]);
      for (const line of this.lines) line.classList.toggle("marked", Number(line.dataset.row) === row);
      this.near = pageElement("div");
      place.replaceChildren(pageElement("h3", { textContent: name }), this.acts(row, name), pageList(facts), ...this.findings(row), this.near);
      place.hidden = false;
      this.row = row;
      setTimeout(() => this.row === row && this.neighbors(row), 50);
    }

    acts(row, name) {
      const line = pageElement("p", { className: "acts" });
      const lead = (anchor, text) => {
        const link = pageElement("a", { href: "#" + this.prefix + anchor, textContent: text });
        link.addEventListener("click", () => pageSelect(this.prefix, null, row));
        line.append(link, " ");
      };
      if (document.getElementById(this.prefix + "graph-data")) lead("graph", "In the graph");
      lead("layers", "In the table");
      line.append(pageButton("Copy name", (button) => pageCopy(name, button)));
      return line;
    }

    // Findings whose first layer it is, in full; the codes of the others.
    findings(row) {
      const table = reportData.tables[this.prefix + "table-findings"], codes = pageColumn(this.prefix, "findings");
      const held = codes && pageValue(codes, row);
      if (!table || !held) return [];
      const of = (title) => table.columns.find((one) => one.title === title), own = of("Layer").rows_there;
      const left = new Set(held.split(" ")), said = [];
      for (let at = 0; at < table.length; at++) {
        if (own[at] !== row) continue;
        left.delete(pageValue(of("Code"), at));
        said.push(pageElement("p", { className: "finding" }, pageElement("strong", { textContent: pageValue(of("Code"), at) }), ` ${pageValue(of("Finding"), at)} → ${pageValue(of("What to try"), at)}`));
      }
      const others = [...left].join(", ");
      if (others) said.push(pageElement("p", { className: "finding" }, pageElement("a", { href: "#" + this.prefix + "findings", textContent: others })));
      return said;
    }

    // Tensors with their formats, and the layers that write and read them.
    async neighbors(row) {
      const plan = await graphOf(this.prefix), node = plan ? plan.rows.indexOf(row) : -1;
      if (this.row !== row) return;
      this.place.dataset.whole = row;
      if (node < 0) return;
      const { nodes, edges, strings } = plan, outputs = nodes.outputs[node], [first, last] = [nodes.starts[node], nodes.starts[node + 1]];
      const tensor = (at) => pageElement("li", {}, pageElement("code", { textContent: strings[nodes.tensor[at]] }), " " + strings[nodes.text[at]]);
      const layer = (one) => {
        const there = plan.rows[one], name = strings[nodes.name[one]];
        if (there < 0) return pageElement("li", { textContent: name });
        const go = pageButton(pageShorten([name], 40).get(name) ?? name, () => pageSelect(this.prefix, null, there, "look"), { title: name });
        return pageElement("li", {}, go, " " + (Number.isNaN(nodes.ms[one]) ? "" : pageMs(nodes.ms[one])));
      };
      const near = (from, to) => {
        const found = new Set();
        for (let at = 0; at < edges.source.length; at++) if (edges[from][at] === node) found.add(edges[to][at]);
        return [...found].slice(0, FEW).map(layer);
      };
      const spans = (from, to) => Array.from({ length: Math.min(FEW, to - from) }, (_, at) => tensor(from + at));
      const parts = [["Reads", [...spans(first, outputs), ...near("target", "source")]], ["Writes", [...spans(outputs, last), ...near("source", "target")]]];
      this.near.replaceChildren(...parts.filter(([, found]) => found.length).flatMap(([title, found]) => [pageElement("h4", { textContent: title }), pageElement("ul", {}, ...found)]));
    }
  }
  const articles = [...document.querySelectorAll("article.run")];
  for (const article of articles) if (article.querySelector(".where .panel") && pageLayers(article.dataset.prefix)) new Panel(article);

  // One search over layers, tactics, tensors and findings of all runs of the page.
  const field = document.getElementById("find");
  if (!field) return;
  const hits = field.parentElement.querySelector(".hits");
  field.parentElement.hidden = !articles.some((one) => pageLayers(one.dataset.prefix));
  function* rowsOf(table, titles, words) {
    const columns = titles.map((title) => table?.columns.find((one) => one.title === title)).filter(Boolean);
    const tests = columns.map((one) => {
      const found = one.words && new Set(one.words.flatMap((word, at) => (word?.toLowerCase().includes(words) ? [at] : [])));
      return found ? (row) => found.has(one.at[row]) : (row) => one.values[row]?.toLowerCase().includes(words);
    });
    for (let row = 0; row < (table?.length ?? 0); row++) if (tests.some((test) => test(row))) yield row;
  }
  const ms = (table, title, row) => { const one = table.columns.find((column) => column.title === title); return one && pageValue(one, row) !== null ? pageMs(pageValue(one, row)) : ""; };
  const cell = (table, key, row) => { const one = table.columns.find((column) => column.key === key || column.title === key); return one ? pageCell(one, row) : ""; };
  const time = (prefix, row) => { const ms = pageTimes(prefix, "time")?.[row]; return ms ? pageMs(ms) : ""; };
  function ofTable(prefix, key, titles, words, text, act) {
    const table = reportData.tables[prefix + "table-" + key], found = [...rowsOf(table, titles, words)];
    return { count: found.length, hits: found.slice(0, HITS).map((row) => ({ ...text(table, row), act: () => act(table, row) })) };
  }
  async function search(prefix, words) {
    const to = (row) => () => pageSelect(prefix, null, row, "search"), plan = await graphOf(prefix).catch(() => null);
    const show = (key) => (_table, row) => document.dispatchEvent(new CustomEvent("row", { detail: { table: prefix + "table-" + key, row } }));
    const layers = ofTable(prefix, "layers", ["Layer", "Type", "ONNX nodes"], words, (table, row) => ({ text: cell(table, "name", row), more: time(prefix, row) }), (_table, row) => to(row)());
    const tactics = ofTable(prefix, "tactics", ["Tactic"], words, (table, row) => ({ text: cell(table, "Tactic", row), more: ms(table, "Time ms", row) }), show("tactics"));
    const findings = ofTable(prefix, "findings", ["Code", "Finding", "Layer", "What to try"], words, (table, row) => ({ text: `${cell(table, "Code", row)} ${cell(table, "Finding", row)}`, more: ms(table, "ms", row) }), show("findings"));
    const tensors = new Map();
    if (plan) {
      const holds = Uint8Array.from(plan.strings, (one) => (one.toLowerCase().includes(words) ? 1 : 0)), { nodes, strings } = plan;
      for (let node = 0; node < nodes.kind.length; node++) {
        for (let at = nodes.starts[node]; at < nodes.starts[node + 1]; at++) {
          const name = nodes.tensor[at];
          if (holds[name] && plan.rows[node] >= 0 && !tensors.has(name)) tensors.set(name, { text: strings[name], more: strings[nodes.text[at]], act: to(plan.rows[node]) });
        }
      }
    }
    return [["Layers", layers], ["Tactics", tactics], ["Tensors", { count: tensors.size, hits: [...tensors.values()].slice(0, HITS) }], ["Findings", findings]];
  }
  let asked = 0;
  field.addEventListener("input", async () => {
    const words = field.value.trim().toLowerCase(), mine = (asked += 1);
    if (words.length < 2) { hits.hidden = true; return; }
    const found = (await Promise.all(articles.map((one) => search(one.dataset.prefix, words)))).flat();
    if (mine !== asked) return;
    const parts = found.filter(([, one]) => one.count).flatMap(([title, one]) => [
      pageElement("h4", { textContent: `${title}: ${one.count.toLocaleString("en-US")}` }),
      ...one.hits.map(({ text, more, act }) => {
        const hit = pageElement("button", { type: "button", title: text }, pageElement("span", { textContent: text, title: text }), pageElement("small", { textContent: more }));
        hit.addEventListener("click", () => { hits.hidden = true; act(); });
        return hit;
      }),
    ]);
    hits.replaceChildren(...(parts.length ? parts : [pageElement("p", { className: "quiet", textContent: "Nothing on this page has these words." })]));
    hits.hidden = false;
  });
  field.parentElement.addEventListener("keydown", (event) => {
    const buttons = [...hits.querySelectorAll("button")], at = buttons.indexOf(document.activeElement);
    const acts = {
      Escape: () => { hits.hidden = true; field.blur(); },
      ArrowDown: () => buttons[Math.min(at + 1, buttons.length - 1)]?.focus(),
      ArrowUp: () => (at > 0 ? buttons[at - 1] : field).focus(),
      Enter: () => (at < 0 ? buttons[0] : buttons[at])?.click(),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
  });
  document.addEventListener("click", (event) => { if (!field.parentElement.contains(event.target)) hits.hidden = true; });

  const KEYS = [
    ["/", "search the page"], ["?", "these keys"], ["Esc", "close, zoom out, let go"],
    ["← →", "picture of time: from layer to layer"], ["Enter", "picture of time: zoom to the layer's group"],
    ["↑ ↓ ← →", "graph: along the edges and to neighbors"], ["+ − 0", "graph: zoom, fit"],
  ];
  const keys = pageElement("dialog", { className: "keys", ariaLabel: "Keys" }, pageElement("h3", { textContent: "Keys" }), pageList(KEYS));
  document.body.append(keys);
  keys.addEventListener("click", () => keys.close());
  addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.target.closest?.("input, select, textarea")) return;
    event.preventDefault();
    if (keys.open) keys.close(); else keys.showModal();
  });
});
