"use strict";
// Tables: sorting and filtering; the document contains only the visible rows.
const pageTables = new Map();
pageStart(() => {
  const ROW = 31, MARGIN = 20, LONGEST = 52, NARROW = 24, PRINTED = 300, MANY_COLUMNS = 8;
  const collator = new Intl.Collator("en", { numeric: true });
  const counted = (count) => count.toLocaleString("en-US");

  // Long names of a column lose what they share, and never look alike where they differ.
  function cellText(column, row) {
    if (column.texts) return column.texts[row];
    const text = pageCell(column, row);
    if (column.places !== null) return text;
    column.short ??= pageShorten(column.words ?? column.values, innerWidth < 640 ? NARROW : LONGEST);
    return column.short.get(text) ?? text;
  }

  // Return a sort key for each row; unknown values come last.
  function ranks(column, length) {
    const found = new Float64Array(length);
    if (column.places !== null) {
      for (let row = 0; row < length; row++) found[row] = pageValue(column, row) ?? NaN;
      return found;
    }
    const words = [...new Set(column.words ?? column.values)].filter((one) => one !== null);
    const place = new Map(words.sort(collator.compare).map((word, at) => [word, at]));
    for (let row = 0; row < length; row++) found[row] = place.get(pageValue(column, row)) ?? NaN;
    return found;
  }

  function sorted(column, length, falling) {
    const by = ranks(column, length), sign = falling ? -1 : 1;
    const order = Uint32Array.from({ length }, (_, row) => row);
    return order.sort((a, b) => {
      const known = Number.isNaN(by[a]) - Number.isNaN(by[b]);
      return known || (Number.isNaN(by[a]) ? a - b : sign * (by[a] - by[b]) || a - b);
    });
  }

  function width(column, length) {
    if (column.places !== null && !column.texts) return column.title === "#" ? 72 : Math.max(96, 26 + column.title.length * 7.5);
    let longest = column.title.length + 2;
    const few = Math.min(length, 400);
    for (let row = 0; row < few; row++) longest = Math.max(longest, cellText(column, row).length);
    return 30 + longest * 7.5;
  }

  class DataTable {
    constructor(box, content) {
      Object.assign(this, content, { box, sortedBy: null, falling: false, onPaper: false, marked: null });
      this.scroll = box.querySelector(".rows");
      this.table = box.querySelector("table");
      this.shownColumns = this.columns.filter((one) => !one.is_hidden);
      this.order = Uint32Array.from({ length: this.length }, (_, row) => row);
      this.shown = this.order;
      this.filters = new Map();
      this.asideRows = new Set(this.aside);
      // Bars of one unit have one scale.
      const bars = this.columns.filter((one) => one.is_share), unit = ({ title }) => title.split(" ").at(-1);
      for (const column of bars) {
        const alike = bars.filter((one) => unit(one) === unit(column));
        column.greatest = Math.max(1e-9, ...alike.map((one) => one.values.reduce((top, value) => Math.max(top, value ?? 0), 0)));
      }
      this.scroll.classList.add("live");
      this.name();
      this.makeTools();
      this.makeHeads();
      this.readAddress();
      this.listen();
      this.filter();
    }

    makeTools() {
      const tools = this.box.querySelector(".tools");
      this.input = pageElement("input", { type: "search", placeholder: "any text" });
      this.input.addEventListener("input", () => this.filter());
      tools.append(pageElement("label", {}, "Filter ", this.input));
      for (const column of this.columns) {
        if (column.is_choice && column.words?.length > 1) tools.append(this.choice(column));
        if (column.is_mark) tools.append(this.mark(column));
      }
      this.output = pageElement("output", { ariaLive: "polite" });
      const save = pageButton("CSV", () => this.save(), { title: "These rows and columns as a file, numbers not rounded" });
      tools.append(this.output, save);
      if (this.columns.length >= MANY_COLUMNS) tools.append(this.makeChooser());
      if (this.aside) tools.append(this.others());
      tools.hidden = this.length < 12 && this.columns.length < MANY_COLUMNS;
    }

    // Which columns are shown; the address keeps it, and the file has the same.
    makeChooser() {
      const usual = this.columns.filter((one) => !one.is_hidden);
      this.boxes = new Map(this.columns.map((column) => [column, pageElement("input", { type: "checkbox" })]));
      const pick = (columns) => { this.showColumns(columns); this.keepAddress(usual); };
      const labels = [...this.boxes].map(([column, box]) => {
        box.addEventListener("change", () => pick(this.columns.filter((one) => this.boxes.get(one).checked)));
        return pageElement("label", { title: column.meaning ?? "" }, box, " " + column.title);
      });
      const button = (text, columns) => pageButton(text, () => pick(columns));
      this.count = pageElement("summary");
      const list = pageElement("div", { className: "column-list", role: "group", ariaLabel: "Columns" }, ...labels);
      return pageElement("details", { className: "columns" }, this.count, list, button("All", this.columns), " ", button("Usual", usual));
    }
    showColumns(columns) {
      this.shownColumns = columns.length ? columns : [this.columns[0]];
      this.makeHeads();
      this.draw();
    }
    keepAddress(usual) {
      const id = this.box.closest("section")?.id;
      if (!id) return;
      const isUsual = usual.length === this.shownColumns.length && usual.every((one) => this.shownColumns.includes(one));
      const state = new URLSearchParams({ [this.key]: this.shownColumns.map((one) => one.title).join("|") });
      history.replaceState(null, "", "#" + id + (isUsual ? "" : "?" + state));
    }
    readAddress() {
      const [id, state] = location.hash.slice(1).split("?");
      const titles = id === this.box.closest("section")?.id && new URLSearchParams(state).get(this.key)?.split("|");
      if (titles) this.showColumns(this.columns.filter((one) => titles.includes(one.title)));
    }
    choice(column) {
      const counts = new Map();
      for (const at of column.at) counts.set(at, (counts.get(at) ?? 0) + 1);
      const words = column.words.map((word, at) => [word, at]).sort((a, b) => collator.compare(a[0] ?? "", b[0] ?? ""));
      const options = words.map(([word, at]) => pageElement("option", {
        value: String(at), textContent: `${word ?? "not known"} (${counted(counts.get(at))})`,
      }));
      const select = pageElement("select", {}, pageElement("option", { value: "", textContent: "all" }), ...options);
      select.addEventListener("change", () => this.keepWord(column, select.value === "" ? null : Number(select.value)));
      column.select = select;
      return pageElement("label", {}, column.title + " ", select);
    }
    keepWord(column, wanted) { this.keep(column, wanted === null ? null : (row) => column.at[row] === wanted); }
    // Show the rows of one word of a column, and no others; null: what a reader sees first.
    only(column, word) {
      this.clear(column !== null);
      const wanted = column ? column.words.indexOf(word) : null;
      if (column?.select) column.select.value = String(wanted);
      if (column) this.keepWord(column, wanted); else this.filter();
    }
    mark(column) {
      const box = pageElement("input", { type: "checkbox" });
      box.addEventListener("change", () => {
        this.keep(column, box.checked ? (row) => pageValue(column, row) !== null : null);
      });
      return pageElement("label", {}, box, ` with ${column.title.toLowerCase()} only`);
    }
    // Rows that stand aside until a reader asks for them.
    others() {
      this.rest = pageElement("input", { type: "checkbox" });
      this.rest.addEventListener("change", () => this.filter());
      return pageElement("label", {}, this.rest, ` and ${counted(this.aside.length)} that ${this.aside_words}`);
    }
    keep(column, test) {
      if (test) this.filters.set(column, test); else this.filters.delete(column);
      this.filter();
    }

    makeHeads() {
      const heads = this.shownColumns.map((column) => {
        const title = column.meaning ?? "", sorter = pageButton(column.title, () => this.sortBy(column), { title });
        const head = pageElement("th", { scope: "col", title, className: column.places === null ? "" : "number" }, sorter);
        head.dataset.title = column.title;
        head.style.width = width(column, this.length) + "px";
        if (column === this.sortedBy) head.setAttribute("aria-sort", this.falling ? "descending" : "ascending");
        return head;
      });
      this.table.tHead.rows[0].replaceChildren(...heads);
      if (!this.boxes) return;
      for (const [column, box] of this.boxes) box.checked = this.shownColumns.includes(column);
      this.count.textContent = `Columns: ${this.shownColumns.length} of ${this.columns.length}`;
    }
    sortBy(column) {
      this.falling = this.sortedBy === column ? !this.falling : (column.places ?? 0) > 0;
      this.sortedBy = column;
      for (const [at, head] of [...this.table.tHead.rows[0].cells].entries()) {
        head.removeAttribute("aria-sort");
        if (this.shownColumns[at] === column) head.setAttribute("aria-sort", this.falling ? "descending" : "ascending");
      }
      this.order = sorted(column, this.length, this.falling);
      this.filter();
    }

    // Create the filter on first use: most readers of a long table never filter it.
    get texts() {
      const columns = this.columns.filter((one) => one.places === null || one.texts);
      const text = (row) => columns.map((one) => one.texts?.[row] ?? pageValue(one, row) ?? "").join("\n").toLowerCase();
      const found = Array.from({ length: this.length }, (_, row) => text(row));
      Object.defineProperty(this, "texts", { value: found });
      return found;
    }
    filter() {
      const wanted = this.input.value.trim().toLowerCase(), tests = [...this.filters.values()];
      if (this.rest?.checked === false) tests.push((row) => !this.asideRows.has(row));
      if (wanted) {
        const texts = this.texts;
        tests.push((row) => texts[row].includes(wanted));
      }
      this.shown = tests.length ? this.order.filter((row) => tests.every((one) => one(row))) : this.order;
      this.scroll.scrollTop = 0;
      this.draw();
      this.onFilter?.();
    }
    get isFiltered() { return Boolean(this.input.value.trim()) || this.filters.size > 0; }
    // Remove all filters; `isAll`: show the rows that stand aside too.
    clear(isAll) {
      this.input.value = "";
      this.filters.clear();
      for (const one of this.box.querySelectorAll(".tools select")) one.value = "";
      for (const one of this.box.querySelectorAll(".tools > label > input[type=checkbox]")) one.checked = isAll && one === this.rest;
    }

    listen() {
      this.scroll.addEventListener("scroll", () => this.draw());
      this.scroll.addEventListener("copy", (event) => this.copy(event));
      addEventListener("hashchange", () => this.boxes && this.readAddress());
      if (this.key === "layers") this.picks((row) => pageSelect(this.box.id, null, row, "table"));
      document.addEventListener("tab", () => { if (this.marked !== null) this.scrollTo(this.marked); });
      for (const [kind, onPaper] of [["beforeprint", true], ["afterprint", false]]) {
        addEventListener(kind, () => { this.onPaper = onPaper; this.name(); this.draw(); });
      }
    }
    // Act on the row that a reader clicks on.
    picks(act) {
      this.table.classList.add("picks");
      this.table.tBodies[0].addEventListener("click", ({ target }) => {
        const line = target.closest("tr[aria-rowindex]");
        if (!line || target.closest("a") || !getSelection().isCollapsed) return;
        act(this.shown[line.ariaRowIndex - 2]);
      });
    }
    name() {
      const all = this.shown.length, cut = all > PRINTED ? `: ${counted(PRINTED)} of ${counted(all)}` : "";
      this.table.caption.textContent = this.caption + (this.onPaper ? cut : "; a heading sorts by its column");
    }
    // Rows that are drawn already are only marked anew.
    draw() {
      const seen = Math.ceil((this.scroll.clientHeight || 560) / ROW);
      const first = this.onPaper ? 0 : Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - MARGIN);
      const last = Math.min(this.shown.length, this.onPaper ? PRINTED : first + seen + 2 * MARGIN);
      const drawn = [first, last, this.shown, this.shownColumns];
      if (drawn.every((one, at) => one === this.drawn?.[at])) {
        for (const line of this.table.tBodies[0].rows) line.classList.toggle("marked", this.shown[line.ariaRowIndex - 2] === this.marked);
        return;
      }
      this.drawn = drawn;
      const lines = [];
      for (let place = first; place < last; place++) lines.push(this.line(place));
      this.table.tBodies[0].replaceChildren(this.spacer(first), ...lines, this.spacer(this.shown.length - last));
      this.table.setAttribute("aria-rowcount", this.shown.length + 1);
      const all = counted(this.length) + " " + this.noun[this.length === 1 ? 0 : 1];
      this.output.textContent = this.shown.length === this.length ? all : `${counted(this.shown.length)} of ${all}`;
    }
    line(place) {
      const row = this.shown[place], line = document.createElement("tr");
      line.setAttribute("aria-rowindex", place + 2);
      if (row === this.marked) line.className = "marked";
      for (const column of this.shownColumns) line.append(this.cell(column, row));
      return line;
    }
    cell(column, row) {
      const cell = document.createElement("td"), value = pageValue(column, row);
      const text = cellText(column, row), there = column.rows_there?.[row] ?? null;
      const address = column.links?.[row];
      if (address) cell.append(pageElement("a", { href: address, textContent: text }));
      else if (there === null) cell.textContent = text;
      else {
        const id = this.prefix + "table-" + column.leads_to;
        const link = pageElement("a", { href: "#" + id, textContent: text });
        link.addEventListener("click", (event) => { event.preventDefault(); pageTables.get(id)?.show(there); });
        cell.append(link);
      }
      if (column.places !== null) cell.className = "number"; else if (value) cell.title = value;
      if (column.looks) cell.classList.add("heat-" + column.looks[row]);
      cell.classList.toggle("long", column.places === null && text.length > 24);
      if (column.is_share) {
        cell.classList.add("share");
        cell.style.setProperty("--part", (100 * (value ?? 0)) / column.greatest + "%");
      }
      return cell;
    }
    spacer(count) {
      const cell = pageElement("td", { colSpan: this.shownColumns.length });
      const row = pageElement("tr", { className: "spacer", ariaHidden: "true" }, cell);
      row.style.height = count * ROW + "px";
      return row;
    }

    // Mark a row, clear all filters, and scroll to the row.
    choose(row, from) {
      this.marked = row;
      if (from === "table") return this.draw();
      this.clear(this.asideRows.has(row));
      this.filter();
      this.scrollTo(row);
    }
    // Bring a row into sight.
    scrollTo(row) {
      const top = this.shown.indexOf(row) * ROW, { scrollTop, clientHeight } = this.scroll;
      if (top >= 0 && (top < scrollTop || top > scrollTop + clientHeight - 2 * ROW)) this.scroll.scrollTop = Math.max(0, top - clientHeight / 3);
      this.draw();
    }
    show(row) {
      pageReveal(this.box);
      this.choose(row);
      this.box.scrollIntoView({ block: "start" });
      this.scroll.focus({ preventScroll: true });
    }

    // A copy has whole names, not the shortened names on the screen.
    copy(event) {
      const selection = getSelection();
      if (!selection.rangeCount || selection.isCollapsed) return;
      const range = selection.getRangeAt(0);
      const rows = [...this.table.tBodies[0].rows].filter((row) => range.intersectsNode(row));
      const lines = rows.map((row) => [...row.cells].filter((cell) => range.intersectsNode(cell)));
      const parts = lines.map((cells) => cells.map((cell) => cell.title || cell.textContent).join("\t"));
      const cells = lines.flat();
      if (cells.length === 1 && selection.toString().trim() !== cells[0].textContent.trim()) return;
      if (!cells.length) return;
      event.clipboardData.setData("text/plain", parts.join("\n"));
      event.preventDefault();
    }

    save() {
      const rows = [this.shownColumns.map((one) => one.title)];
      for (const row of this.shown) rows.push(this.shownColumns.map((one) => pageValue(one, row)));
      pageSave(this.key + ".csv", new Blob([pageCsv(rows)], { type: "text/csv" }));
    }
  }

  for (const [id, content] of Object.entries(reportData.tables)) {
    const box = document.getElementById(id);
    if (box) pageTables.set(id, new DataTable(box, content));
  }
  document.addEventListener("layer", ({ detail }) => pageTables.get(detail.prefix + "table-layers")?.choose(detail.row, detail.from));
  document.addEventListener("row", ({ detail }) => pageTables.get(detail.table)?.show(detail.row));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-table]");
    const table = link && pageTables.get(link.dataset.table);
    if (!table) return;
    event.preventDefault();
    table.show(Number(link.dataset.row));
  });
});
