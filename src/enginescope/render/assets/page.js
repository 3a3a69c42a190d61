"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

  // Charts, one after the other so that the page stays usable while they are drawn.
  let drawing = 0;
  async function drawCharts() {
    const mine = ++drawing;
    root.dataset.charts = "drawing";
    const config = data.themes[isDark() ? "dark" : "light"];
    for (const [id, spec] of Object.entries(data.charts)) {
      await new Promise((resume) => setTimeout(resume));
      if (mine !== drawing) return;
      const place = document.getElementById(id);
      if (!place) continue;
      try {
        // The interpreter (ast) needs no eval, which the page's policy forbids.
        await vegaEmbed(place, spec, {
          actions: false, renderer: "svg", ast: true, config, tooltip: { theme: isDark() ? "dark" : "light" },
        });
      } catch (error) {
        place.textContent = "This picture could not be drawn: " + error.message;
        console.error(id, error);
      }
    }
    root.dataset.charts = "drawn";
  }

  // Light and dark: by preference, and by switch.
  const button = document.getElementById("theme");
  const nameButton = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.hidden = false;
  nameButton();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameButton();
    drawCharts();
  });
  prefersDark.addEventListener("change", () => { nameButton(); drawCharts(); });

  // Layer tables: sorted, filtered, and only the rows in sight are in the document.
  const ROW = 31, MARGIN = 20;
  const LONGEST = 52;
  function shorten(text) {
    if (text.length <= LONGEST) return text;
    const head = Math.ceil((LONGEST - 1) / 2);
    return text.slice(0, head) + "…" + text.slice(text.length - (LONGEST - 1 - head));
  }
  function cellText(value, places) {
    if (places === null) return shorten(value ?? "");
    if (value === null) return "—";
    return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
  }
  function widths(columns, rows) {
    return columns.map(([title, places], at) => {
      if (places !== null) return title === "#" ? 72 : 112;
      let longest = title.length + 2;
      for (const row of rows.slice(0, 400)) longest = Math.max(longest, shorten(row[at] ?? "").length);
      return 30 + longest * 7.5;
    });
  }
  function layerTable(id, { columns, rows }) {
    const box = document.getElementById(id);
    if (!box) return;
    const scroll = box.querySelector(".rows"), table = box.querySelector("table"), body = table.tBodies[0];
    const tools = box.querySelector(".tools"), input = tools.querySelector("input");
    const output = tools.querySelector("output"), heads = [...table.tHead.rows[0].cells];
    const texts = rows.map((row) => row.filter((cell) => typeof cell === "string").join("\n").toLowerCase());
    const share = columns.findIndex(([title]) => title.startsWith("Share"));
    const greatest = share < 0 ? 1 : rows.reduce((top, row) => Math.max(top, row[share] ?? 0), 1e-9);
    let order = rows.map((_, at) => at), shown = order, sorted = null, falling = false, whole = false;
    tools.hidden = false;
    scroll.classList.add("live");
    table.caption.textContent = "Layers, the slowest first; a heading sorts by its column";
    widths(columns, rows).forEach((width, at) => { heads[at].style.width = width + "px"; });

    function line(at) {
      const row = document.createElement("tr");
      row.setAttribute("aria-rowindex", at + 2);
      columns.forEach(([, places], column) => {
        const cell = row.insertCell(), value = rows[shown[at]][column];
        const text = cellText(value, places);
        cell.textContent = text;
        if (places !== null) cell.className = "number"; else if (value) cell.title = value;
        if (column === share) {
          cell.classList.add("share");
          cell.style.setProperty("--part", (100 * (value ?? 0)) / greatest + "%");
        }
      });
      return row;
    }
    function spacer(count) {
      const row = document.createElement("tr"), cell = row.insertCell();
      row.className = "spacer";
      row.setAttribute("aria-hidden", "true");
      row.style.height = count * ROW + "px";
      cell.colSpan = columns.length;
      return row;
    }
    function draw() {
      const first = whole ? 0 : Math.max(0, Math.floor(scroll.scrollTop / ROW) - MARGIN);
      const last = whole ? shown.length : Math.min(shown.length, first + Math.ceil(scroll.clientHeight / ROW) + 2 * MARGIN);
      const lines = [];
      for (let at = first; at < last; at++) lines.push(line(at));
      body.replaceChildren(spacer(first), ...lines, spacer(shown.length - last));
      table.setAttribute("aria-rowcount", shown.length + 1);
      output.textContent = shown.length === rows.length
        ? rows.length.toLocaleString("en-US") + (rows.length === 1 ? " layer" : " layers")
        : shown.length.toLocaleString("en-US") + " of " + rows.length.toLocaleString("en-US") + " layers";
    }
    function filter() {
      const wanted = input.value.trim().toLowerCase();
      shown = wanted ? order.filter((at) => texts[at].includes(wanted)) : order;
      scroll.scrollTop = 0;
      draw();
    }
    function compare(a, b) {
      if (a === null || b === null) return (a === null) - (b === null);
      const found = typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
      return falling ? -found : found;
    }
    function sortBy(column) {
      falling = sorted === column ? !falling : (columns[column][1] ?? 0) > 0;
      sorted = column;
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      heads[column].setAttribute("aria-sort", falling ? "descending" : "ascending");
      order = rows.map((_, at) => at).sort((a, b) => compare(rows[a][column], rows[b][column]) || a - b);
      filter();
    }
    heads.forEach((head, column) => {
      const sorter = document.createElement("button");
      sorter.type = "button";
      sorter.textContent = head.textContent;
      sorter.addEventListener("click", () => sortBy(column));
      head.replaceChildren(sorter);
    });
    let waiting = false;
    scroll.addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; draw(); });
    });
    input.addEventListener("input", filter);
    addEventListener("beforeprint", () => { whole = shown.length <= 2000; draw(); });
    addEventListener("afterprint", () => { whole = false; draw(); });
    draw();
  }
  for (const [id, table] of Object.entries(data.layers)) layerTable(id, table);

  // Downloads come out of the page itself.
  for (const link of document.querySelectorAll("a[data-file]")) {
    const name = link.dataset.file;
    const type = name.endsWith(".json") ? "application/json" : "text/csv";
    link.href = URL.createObjectURL(new Blob([data.files[name]], { type }));
  }
  for (const list of document.querySelectorAll(".downloads")) list.hidden = false;

  // The index shows where the reader is.
  const links = new Map([...document.querySelectorAll(".index a")].map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -70% 0px" });
  for (const id of links.keys()) {
    const place = document.getElementById(id);
    if (place) watcher.observe(place);
  }

  drawCharts();
})();
