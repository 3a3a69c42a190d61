  // The rows above the graph: folding, color, search, filter, legend.
  class Controls {
    constructor(view) {
      this.view = view;
      const { plan, state } = view, part = view.part;
      for (const option of [...part("folding").options]) if (!Object.hasOwn(plan.foldings, option.value)) option.remove();
      if (part("folding").options.length < 2) part("folding").closest("label").hidden = true;
      if (plan.overlay) part("color").append(new Option(plan.overlay.title, "overlay"));
      if (!plan.isTimed) part("color").querySelector('[value="time"]').remove();
      this.on("folding", "change", (value) => view.refold(value));
      this.on("color", "change", (value) => { state.mode = value; state.only = null; view.recolor(); view.showSelected(); view.keep(); });
      this.on("near", "input", (value) => { state.near = Number(value) || 0; this.filtered(); });
      this.on("search", "input", (value) => { state.words = value.trim(); this.found = null; this.at = -1; this.filtered(); });
      part("search").addEventListener("keydown", (event) => this.searching(event));
      part("unfold").addEventListener("click", () => view.all(true));
      part("fold").addEventListener("click", () => view.all(false));
      part("fit").addEventListener("click", () => view.fit(false));
      part("shapes").addEventListener("click", () => { state.shapes = state.shapes ? "" : "1"; this.show(); view.changed(); });
      part("in").addEventListener("click", () => view.zoom(STEP));
      part("out").addEventListener("click", () => view.zoom(1 / STEP));
      part("wide").addEventListener("click", () => this.widen());
      this.at = -1;
      this.show();
    }

    on(name, kind, act) { this.view.part(name).addEventListener(kind, (event) => act(event.target.value)); }

    filtered() { this.view.remark(); this.view.keep(); }

    show() {
      const { state, part } = this.view;
      part("folding").value = state.folding;
      part("color").value = state.mode;
      part("search").value = state.words;
      part("near").value = state.near;
      part("shapes").setAttribute("aria-pressed", String(Boolean(state.shapes)));
      this.found = null;
    }

    // Return the nodes that contain the words; null if there are no words.
    matches() {
      const { plan, state } = this.view;
      if (!state.words) return null;
      if (!this.found || this.sought !== state.words) { this.found = plan.search(state.words); this.sought = state.words; this.at = -1; }
      return this.found;
    }

    searching(event) {
      const { view } = this, found = this.matches();
      if (event.key === "Escape") { event.target.value = ""; view.state.words = ""; this.filtered(); view.canvas.focus({ preventScroll: true }); return; }
      if (event.key !== "Enter" || !found?.length) return;
      event.preventDefault();
      this.at = (this.at + (event.shiftKey ? found.length - 1 : 1)) % found.length;
      view.reveal(found[this.at]);
    }

    said() {
      const { view } = this, { plan, state, part } = view, found = this.matches(), words = [];
      if (found) words.push(found.length ? (this.at >= 0 ? (this.at + 1).toLocaleString("en-US") + " of " : "") + found.length.toLocaleString("en-US") + " found" + (this.at < 0 ? ", Enter goes there" : "") : "nothing found");
      if (view.passing !== plan.layerCount) words.push(view.passing.toLocaleString("en-US") + " of " + countText(plan.layerCount, "layer") + " shown");
      if (state.near && view.marks.selected < 0) words.push("choose a layer to see what is around it");
      part("said").textContent = words.join(" · ");
    }

    legend() {
      const hasGroups = this.view.folding.parent.length > 1;
      for (const name of ["unfold", "fold"]) this.view.part(name).hidden = !hasGroups;
      const { view } = this, { coloring, state } = view, place = view.part("legend");
      if (coloring.mode !== state.mode) { state.mode = coloring.mode; view.part("color").value = coloring.mode; }
      if (coloring.mode === "time" || coloring.mode === "overlay") {
        const isTime = coloring.mode === "time", bar = element("span", null, "graph-heat");
        bar.style.background = "linear-gradient(to right, " + Array.from({ length: 9 }, (_, at) => viridis(at / 8)).join(", ") + ")";
        const [from, to] = isTime ? ["time of a layer or group: up to " + msText(coloring.least), msText(coloring.most) + ", logarithmic"]
          : [view.plan.overlay.title + ": " + number(coloring.least), number(coloring.most) + "; of a group, its largest"];
        place.replaceChildren(element("span", from), bar, element("span", to));
        return;
      }
      place.replaceChildren(...coloring.legend().map((one) => {
        const button = legendRow("button", one.color, one.words);
        button.type = "button";
        button.title = "Show only these";
        button.setAttribute("aria-pressed", String(state.only === one.key));
        button.addEventListener("click", () => { state.only = state.only === one.key ? null : one.key; view.remark(); this.legend(); view.keep(); });
        return button;
      }));
    }

    widen() {
      const { view } = this, isWide = view.box.classList.toggle("wide");
      view.part("wide").textContent = isWide ? "Back to the page" : "Whole window";
      document.documentElement.classList.toggle("graph-wide", isWide);
      view.canvas.focus({ preventScroll: true });
      requestAnimationFrame(() => view.redraw());
    }
  }
