"use strict";
// A cell of the matrix: what is known of it, in a panel; the address remembers which.
pageStart(() => {
  const { cells, tables } = reportData, panel = document.getElementById("cell");
  if (!panel) return;
  const columns = tables["table-cells"]?.columns ?? [];
  const keys = Object.keys(cells);
  let opener = null;

  const shown = ({ words, at, values, places }, row) => {
    const value = words ? words[at[row]] : values[row];
    return places === null || value === null ? value : Number(value.toPrecision(6)).toLocaleString("en-US", { maximumFractionDigits: 12 });
  };
  function button(textContent, act, more) {
    const made = pageElement("button", { type: "button", textContent, ...more });
    made.addEventListener("click", () => act(made));
    return made;
  }
  function command(text) {
    const copy = button("Copy", async (self) => {
      await navigator.clipboard.writeText(text).then(() => { self.textContent = "Copied"; }, () => { self.textContent = "Select it"; });
    });
    return pageElement("div", { className: "command" }, pageElement("code", { textContent: text }), copy);
  }
  function open(key) {
    const { row, title, why, detail, commands } = cells[key];
    const facts = columns.map((one) => [one.title, shown(one, row)]).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const list = pageElement("dl", { className: "facts" }, ...facts.map(([name, value]) => pageElement("div", {}, pageElement("dt", { textContent: name }), pageElement("dd", { textContent: value }))));
    const there = pageElement("a", { href: "#table-cells", textContent: "In the table of cells" });
    there.dataset.table = "table-cells";
    there.dataset.row = row;
    there.addEventListener("click", () => close());
    panel.replaceChildren(
      button("Close", close, { className: "close", title: "Esc" }),
      pageElement("h2", { textContent: title }),
      ...(why ? [pageElement("p", { className: "failure", textContent: why })] : []),
      ...(detail ? [pageElement("pre", { textContent: detail })] : []),
      ...(commands.length ? [pageElement("h3", { textContent: "Open the run" }), ...commands.map(command)] : []),
      list,
      pageElement("p", {}, there),
    );
    panel.setAttribute("aria-label", title);
    panel.hidden = false;
    panel.scrollTop = 0;
    panel.focus({ preventScroll: true });
  }
  function close() {
    if (panel.hidden) return;
    panel.hidden = true;
    if (location.hash.startsWith("#cell-")) history.replaceState(null, "", location.pathname + location.search);
    opener?.focus({ preventScroll: true });
  }
  function follow() {
    const key = location.hash.startsWith("#cell-") ? decodeURIComponent(location.hash.slice(6)) : null;
    if (key !== null && cells[key]) open(key); else panel.hidden = true;
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#cell-"]');
    if (!link) return;
    opener = link;
    if (link.hash === location.hash) follow();
  });
  // The arrows go through the cells in the order of the suite.
  addEventListener("keydown", (event) => {
    if (panel.hidden) return;
    if (event.key === "Escape") close();
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = keys.indexOf(decodeURIComponent(location.hash.slice(6))) + step;
    if (step && keys[at] !== undefined) location.replace("#cell-" + encodeURIComponent(keys[at]));
  });
  addEventListener("hashchange", follow);
  follow();
});
