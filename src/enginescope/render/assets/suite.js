"use strict";
// A cell of the matrix: what is known of it, in a dialog; the address remembers which.
pageStart(() => {
  const { cells, tables } = reportData, panel = document.getElementById("cell");
  if (!panel) return;
  const columns = tables["table-cells"]?.columns ?? [], keys = Object.keys(cells);
  const current = () => (location.hash.startsWith("#cell-") ? decodeURIComponent(location.hash.slice(6)) : null);

  function command(text) {
    const copy = pageButton("Copy", (button) => pageCopy(text, button));
    return pageElement("div", { className: "command" }, pageElement("code", { textContent: text }), copy);
  }
  function open(key) {
    const { row, title, why, detail, commands } = cells[key];
    const facts = columns.filter((one) => pageValue(one, row) !== null).map((one) => [one.title, pageCell(one, row)]);
    const there = pageElement("a", { href: "#table-cells", textContent: "In the table of cells" });
    Object.assign(there.dataset, { table: "table-cells", row });
    there.addEventListener("click", () => panel.close());
    panel.replaceChildren(
      pageButton("Close", () => panel.close(), { className: "close", title: "Esc" }),
      pageElement("h2", { textContent: title }),
      ...(why ? [pageElement("p", { className: "failure", textContent: why })] : []),
      ...(detail ? [pageElement("pre", { textContent: detail })] : []),
      ...(commands.length ? [pageElement("h3", { textContent: "Open the run" }), ...commands.map(command)] : []),
      pageList(facts, { className: "facts" }),
      pageElement("p", {}, there),
    );
    panel.ariaLabel = title;
    panel.scrollTop = 0;
    if (!panel.open) panel.showModal();
  }
  function follow() {
    const key = current();
    if (key !== null && cells[key]) open(key); else panel.close();
  }
  panel.addEventListener("close", () => { if (current() !== null) history.replaceState(null, "", location.pathname + location.search); });
  // The arrows go through the cells in the order of the suite.
  panel.addEventListener("keydown", ({ key }) => {
    const next = keys[keys.indexOf(current()) + ({ ArrowRight: 1, ArrowLeft: -1 }[key] ?? NaN)];
    if (next !== undefined) location.replace("#cell-" + encodeURIComponent(next));
  });
  addEventListener("hashchange", follow);
  follow();
});
