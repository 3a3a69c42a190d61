"use strict";
// Pairs of layers: the chosen one side by side; keys walk through the changes, or through the reasons of the difference.
let pairList = null;
pageStart(() => {
  const table = pageTables.get("table-pairs"), { steps } = reportData;
  if (!table) return;
  const box = document.getElementById("graph"), part = (name) => box.querySelector(`[data-part="${name}"]`);
  const through = part("through"), chart = document.getElementById("chart-waterfall"), detail = document.querySelector(".pair-detail");
  const columns = new Map(table.columns.map((one) => [one.key, one]));
  const value = (name, row) => (columns.has(name) ? pageValue(columns.get(name), row) : null);
  const signed = (ms) => ms !== null && (ms > 0 ? "+" : ms < 0 ? "−" : "") + pageMs(Math.abs(ms));
  const counted = (count) => count.toLocaleString("en-US");
  const isReasons = () => through.value === "reasons";
  let chosen = null, step = null;

  // Each build names layers and tensors: mark only what the changes name.
  const FORM = ["shapes", "batch", "precision", "format"];
  const FACTS = [
    ["layer", "name", []], ["type", "type", ["kind"]], ["time", "ms"], ["precision of the first input", "precision_in"],
    ["precision of the first output", "precision_out"], ["tactic", "tactic", ["tactic"]], ["inputs", "inputs", FORM],
    ["outputs", "outputs", FORM], ["ONNX nodes", "onnx_nodes"],
  ];
  const cells = (name, texts) => texts.map((text) => pageElement(name, { textContent: text }));
  const inLines = (one) => (typeof one === "number" ? pageMs(one) : (one ?? "—").replaceAll(/; ?/g, "\n"));
  function sideBySide(row) {
    const isAlone = value("relation", row).startsWith("only"), changes = (value("changes", row) ?? "").split(";");
    const lines = FACTS.flatMap(([title, name, named]) => {
      const sides = ["a_", "b_"].map((side) => value(side + name, row));
      if (!sides.some(Boolean)) return [];
      const differs = named ? named.some((one) => changes.includes(one)) : sides[0] !== sides[1];
      return [pageElement("tr", { className: differs && !isAlone ? "differs" : "" }, ...cells("th", [title]), ...cells("td", sides.map(inLines)))];
    });
    const share = value("share_pct", row), speedup = value("speedup", row);
    const said = [
      value("evidence", row) && "paired by " + value("why", row), "differs in: " + value("differs", row), signed(value("difference_ms", row)),
      share !== null && pageShare(share, 100) + " of the difference", speedup !== null && "A ÷ B " + speedup.toPrecision(3),
    ];
    const head = pageElement("tr", {}, ...cells("th", ["", "A", "B"]));
    return [
      ...cells("h3", [value("name", row)]), pageElement("p", { className: "quiet", textContent: said.filter(Boolean).join(" · ") }),
      pageElement("div", { className: "scroll" }, pageElement("table", {}, pageElement("thead", {}, head), pageElement("tbody", {}, ...lines))),
    ];
  }

  // `rows`: those that the graphs emphasize; null without a filter.
  pairList = {
    get row() { return chosen; },
    get rows() { return table.isFiltered ? [...table.shown] : null; },
    get shown() { return [...table.shown]; },
  };
  function show(row) {
    chosen = table.marked = row;
    detail.replaceChildren(...(row === null ? [] : sideBySide(row)));
    table.scrollTo(row);
    document.dispatchEvent(new CustomEvent("pair", { detail: pairList }));
    tell();
  }
  function choose(row) {
    if (row !== null) history.replaceState(null, "", "#layers?pair=" + row);
    show(row);
  }

  function words() {
    if (!isReasons()) return chosen === null ? [] : [signed(value("difference_ms", chosen)), value("name", chosen), value("differs", chosen)];
    if (step === null) return [];
    const [text, ms] = steps[step], { length } = table.shown;
    return [signed(ms), text, length ? pageCount(length, "pair") : "belongs to no layer"];
  }
  function tell() {
    const at = isReasons() ? step ?? -1 : table.shown.indexOf(chosen), count = isReasons() ? steps.length : table.shown.length;
    part("at").textContent = at < 0 ? pageCount(count, isReasons() ? "reason" : "change") : `${counted(at + 1)} of ${counted(count)}`;
    part("now").textContent = words().filter(Boolean).join(" · ");
    for (const name of ["previous", "next"]) part(name).disabled = !count;
    mark();
  }
  // Emphasize the bar of the current reason. A change of theme draws the chart again.
  function mark() { chart?.vega?.signal("chosen", isReasons() && step !== null ? steps[step][0] : null).runAsync(); }
  chart?.addEventListener("drawn", mark);

  function toStep(at) {
    through.value = "reasons";
    step = at;
    table.only(columns.get("reason"), steps[at][0]);
  }
  function move(way) {
    const at = isReasons() ? step ?? -1 : table.shown.indexOf(chosen), count = isReasons() ? steps.length : table.shown.length;
    if (!count) return;
    const to = at < 0 ? (way > 0 ? 0 : count - 1) : (at + way + count) % count;
    if (isReasons()) { toStep(to); return; }
    choose(table.shown[to]);
    const { top, bottom } = box.getBoundingClientRect();
    if (bottom < 200 || top > innerHeight - 200) box.scrollIntoView();
  }

  // A reason is chosen as a whole, not one of its pairs.
  table.onFilter = () => choose(step !== null ? null : table.shown.includes(chosen) ? chosen : table.shown[0] ?? null);
  table.picks(choose);
  through.addEventListener("change", () => { step = null; if (isReasons()) move(1); else table.only(null); tell(); part("next").focus(); });
  part("previous").addEventListener("click", () => move(-1));
  part("next").addEventListener("click", () => move(1));
  addEventListener("keydown", (event) => {
    const way = { n: 1, p: -1 }[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    event.preventDefault();
    move(way);
  });
  // The reader selected a layer in a graph.
  document.addEventListener("pick", ({ detail: { row, words } }) => { choose(row); if (row === null) part("now").textContent = words; });
  // A click on a bar selects the layers of its reason.
  document.addEventListener("bar", ({ detail: { place, datum } }) => {
    const at = place === chart ? steps.findIndex(([text]) => text === datum.what) : -1;
    if (at >= 0) toStep(at);
  });
  box.querySelector(".walk").hidden = false;
  const asked = Number(/^#layers\?pair=(\d+)$/.exec(location.hash)?.[1] ?? NaN);
  show(asked < table.length ? asked : table.shown[0] ?? null);

  // On wide screens the header shows the verdict while its heading is out of sight.
  const verdict = document.querySelector("h1"), what = document.querySelector(".brand-what"), about = what.textContent;
  new IntersectionObserver(([{ isIntersecting }]) => { what.textContent = isIntersecting || innerWidth < 900 ? about : verdict.textContent; }).observe(verdict);
});
