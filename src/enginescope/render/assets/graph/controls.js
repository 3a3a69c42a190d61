  // What one graph and two side by side have in common: folding, color, zoom, the whole window.
  function furnish(host, foldings) {
    const { part } = host, on = (name, kind, act) => part(name).addEventListener(kind, (event) => act(event.target.value));
    for (const option of [...part("folding").options]) if (!foldings.includes(option.value)) option.remove();
    part("folding").closest("label").hidden = part("folding").options.length < 2;
    on("folding", "change", (value) => host.refold(value));
    on("color", "change", (value) => host.colorBy(value));
    on("unfold", "click", () => host.all(true));
    on("fold", "click", () => host.all(false));
    on("fit", "click", () => host.fit(false));
    on("in", "click", () => host.zoom(STEP));
    on("out", "click", () => host.zoom(1 / STEP));
    on("wide", "click", () => widen(host));
    return on;
  }

  function widen({ box, part, canvas }) {
    const isWide = box.classList.toggle("wide");
    part("wide").textContent = isWide ? "Back to the page" : "Whole window";
    document.documentElement.classList.toggle("graph-wide", isWide);
    canvas?.focus({ preventScroll: true });
  }

  // The rows above one graph: also search, filter, legend.
  class Controls {
    constructor(view) {
      this.view = view;
      const { plan, state, part } = view;
      if (plan.overlay) part("color").append(new Option(plan.overlay.title, "overlay"));
      if (!plan.isTimed) part("color").querySelector('[value="time"]').remove();
      const on = furnish(view, Object.keys(plan.foldings));
      on("near", "input", (value) => { state.near = Number(value) || 0; this.filtered(); });
      on("search", "input", (value) => { state.words = value.trim(); this.found = null; this.at = -1; this.filtered(); });
      part("search").addEventListener("keydown", (event) => this.searching(event));
      on("shapes", "click", () => { state.shapes = state.shapes ? "" : "1"; this.show(); view.changed(); });
      this.at = -1;
      this.show();
    }

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
      if (!this.found || this.sought !== state.words) Object.assign(this, { found: plan.search(state.words), sought: state.words, at: -1 });
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
      if (view.passing !== plan.layerCount) words.push(view.passing.toLocaleString("en-US") + " of " + pageCount(plan.layerCount, "layer") + " shown");
      if (state.near && view.marks.selected < 0) words.push("choose a layer to see what is around it");
      part("said").textContent = words.join(" · ");
    }

    legend() {
      const { view } = this, { coloring, state, part, plan } = view, isTime = coloring.mode === "time";
      for (const name of ["unfold", "fold"]) part(name).hidden = view.folding.parent.length < 2;
      part("color").value = state.mode = coloring.mode;
      if (isTime || coloring.mode === "overlay") {
        const [from, to] = isTime ? ["time of a layer or group: up to " + msText(coloring.least), msText(coloring.most) + ", logarithmic"]
          : [plan.overlay.title + ": " + number(coloring.least), number(coloring.most) + "; of a group, its largest"];
        part("legend").replaceChildren(...legendScale(from, to, viridis));
        return;
      }
      part("legend").replaceChildren(...coloring.legend().map((one) => {
        const button = legendRow(one.color, one.words, () => { state.only = state.only === one.key ? null : one.key; view.remark(); this.legend(); view.keep(); });
        button.setAttribute("aria-pressed", String(state.only === one.key));
        return button;
      }));
    }
  }
