  // One graph of the page: camera, pointer, keys, open groups, selection and search.
  const MOST_SCALE = 2.5, STEP = 1.25;
  const SAID = ["#", "Layer", "Time ms", "% of sum", "Type", "Precision", "Findings", "Tactic", "Implementation", "As profiled", "ONNX nodes"];
  const isStill = matchMedia("(prefers-reduced-motion: reduce)");

  class View {
    constructor(box, plan, pair) {
      this.box = box;
      this.plan = plan;
      this.pair = pair;
      this.prefix = box.dataset.prefix;
      this.part = (name) => box.querySelector('[data-part="' + name + '"]');
      this.canvas = this.part("canvas");
      this.painter = new Painter(this.canvas);
      this.map = new Minimap(this.part("map"));
      this.state = { folding: plan.first, mode: plan.overlay ? "overlay" : plan.isTimed ? "time" : "type", open: new Set(plan.foldings[plan.first].open), selected: null, near: 0, words: "", only: null, shapes: "" };
      this.camera = { x: 0, y: 0, scale: 1 };
      this.look = surface();
      this.furnish();
      this.listen();
      this.read() || this.rebuild(true);
      if (reportData.chosen) this.follow(reportData.chosen);
      this.paint(); // keys depend on the visible boxes, and a key may come before the next frame
      this.isReady = true;
      box.dataset.state = "ready";
    }

    furnish() {
      this.panel = new Panel(this);
      this.controls = new Controls(this);
    }

    // The row of a node in the table of layers; -1 for none.
    rowOf(node) { return this.plan.rows?.[node] ?? -1; }

    get folding() { return this.plan.folding(this.state.folding); }

    // Rebuild the scene after folding, unfolding, or a change of the fold mode.
    rebuild(isFit) {
      this.scene = new Scene(this.plan, this.folding, this.state.open);
      this.scene.label = (box) => (this.scene.ids[box] >= 0 ? this.plan.name(this.scene.ids[box]) : this.plan.groupPath(this.folding, -1 - this.scene.ids[box]));
      this.grid = new Grid(this.scene);
      this.recolor();
      if (isFit) this.fit(true);
      this.showSelected();
    }

    recolor() {
      this.coloring = new Coloring(this.scene, this.state.mode);
      this.scene.coloringParts = (group) => this.coloring.partsOf(group);
      this.remark();
      this.controls.legend();
    }

    // Dim boxes without a node of the chosen color, and boxes that are too far away.
    remark() {
      const { plan, scene, state } = this, found = this.controls.matches();
      const only = state.only && this.coloring.legend().find((one) => one.key === state.only);
      const passes = only ? new Set() : null;
      this.passing = only ? 0 : plan.layerCount;
      for (let node = 0; only && node < plan.count; node++) {
        if (only.has(node)) { passes.add(scene.boxOf[node]); this.passing += 1; }
      }
      const selected = this.selectedBox();
      const near = state.near && selected >= 0 ? scene.around(selected, state.near) : null;
      this.marks = {
        selected, found: found ? new Set(found.map((node) => scene.boxOf[node])) : null,
        isDimmed: passes || near ? (box) => box >= 0 && ((passes && !passes.has(box)) || (near && !near.has(box))) : null,
      };
      this.controls.said();
      this.redraw();
    }

    selectedBox() {
      const { selected } = this.state;
      if (selected === null) return -1;
      return selected >= 0 ? this.scene.boxOf[selected] : this.scene.ofGroup.get(-1 - selected) ?? -1;
    }

    colorBy(mode) {
      Object.assign(this.state, { mode, only: null });
      this.recolor();
      this.showSelected();
      this.keep();
    }

    redraw() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.paint(); });
    }

    paint() {
      const shown = { scene: this.scene, grid: this.grid, coloring: this.coloring, marks: this.marks, hasShapes: Boolean(this.state.shapes) };
      this.painter.paint(this.camera, shown, this.look);
      this.map.paint(shown, this.look, this.painter.sight);
      this.box.dataset.drawn = this.painter.drawn;
      this.box.dataset.scale = this.camera.scale.toPrecision(4);
      this.box.dataset.boxes = this.scene.count;
    }

    // Camera.
    fit(isFirst) {
      const { x, y, scale, isPart } = this.whole(isFirst);
      this.look_at(x, y, scale, isFirst || isPart);
    }

    // Return the place and scale that show everything. At first, a graph that would be dots shows its beginning.
    whole(isFirst, most = Infinity) {
      const width = this.canvas.clientWidth || 800, height = this.canvas.clientHeight || 500, { scene } = this;
      const whole = Math.min(width / (scene.width + 60), height / (scene.height + 60), 1.1, most);
      if (!isFirst || whole > (this.pair ? 0.42 : DOTS)) return { x: scene.width / 2, y: scene.height / 2, scale: whole };
      const scale = Math.min(most, Math.max(0.62, Math.min(1, width / (scene.width + 60))));
      const start = scene.boxes[0] ?? scene.width / 2;
      return { x: scene.width * scale < width ? scene.width / 2 : start, y: height / 2 / scale - 24, scale, isPart: true };
    }

    look_at(x, y, scale, isAtOnce) {
      const from = { ...this.camera }, to = { x, y, scale: this.bounded(scale) }, start = performance.now();
      this.flight = (this.flight ?? 0) + 1;
      const mine = this.flight;
      if (isAtOnce || isStill.matches) { this.camera = to; this.changed(); return; }
      const step = (now) => {
        if (mine !== this.flight) return;
        const part = Math.min(1, (now - start) / 200), ease = 1 - (1 - part) ** 3;
        this.camera = { x: from.x + (x - from.x) * ease, y: from.y + (y - from.y) * ease, scale: from.scale * (to.scale / from.scale) ** ease };
        this.redraw();
        if (part < 1) requestAnimationFrame(step); else this.changed();
      };
      requestAnimationFrame(step);
    }

    bounded(scale) {
      const { scene } = this, least = Math.min(0.4, this.canvas.clientWidth / (scene.width + 60), this.canvas.clientHeight / (scene.height + 60));
      return Math.max(least * 0.8, Math.min(MOST_SCALE, scale));
    }

    zoom(factor, px, py) {
      const { camera, canvas } = this, scale = this.bounded(camera.scale * factor);
      const dx = (px ?? canvas.clientWidth / 2) - canvas.clientWidth / 2, dy = (py ?? canvas.clientHeight / 2) - canvas.clientHeight / 2;
      this.flight = (this.flight ?? 0) + 1;
      this.camera = { x: camera.x + dx / camera.scale - dx / scale, y: camera.y + dy / camera.scale - dy / scale, scale };
      this.changed();
    }

    pan(dx, dy) {
      const { scene, camera } = this, clamp = (one, most) => Math.max(-200, Math.min(most + 200, one));
      this.camera = { ...camera, x: clamp(camera.x - dx / camera.scale, scene.width), y: clamp(camera.y - dy / camera.scale, scene.height) };
      this.changed();
    }

    world(px, py) {
      const { camera, canvas } = this;
      return [camera.x + (px - canvas.clientWidth / 2) / camera.scale, camera.y + (py - canvas.clientHeight / 2) / camera.scale];
    }

    changed() { this.redraw(); this.keep(); }

    // Selecting, folding and unfolding.
    select(box, isShown) {
      this.state.selected = box < 0 ? null : this.scene.ids[box];
      this.showSelected();
      this.remark();
      if (box >= 0 && isShown) this.bring(box);
      if (this.isReady) pageSelect(this.prefix, null, this.rowOf(this.state.selected), "graph");
      this.keep();
    }

    showSelected() {
      const box = this.selectedBox();
      if (box < 0) { this.state.selected = null; this.panel.empty(this.scene); return; }
      this.panel.show(this.scene, box);
      this.part("live").textContent = spoken(this.scene, box);
    }

    // Move only as far as needed to make a box fully visible.
    bring(box) {
      const { boxes } = this.scene, { camera, canvas } = this, x = boxes[4 * box], y = boxes[4 * box + 1];
      const scale = Math.max(camera.scale, 0.5), wide = canvas.clientWidth / 2 / scale - 220, high = canvas.clientHeight / 2 / scale - 90;
      const near = (from, to, room) => (room <= 0 ? to : from < to - room ? to - room : from > to + room ? to + room : from);
      this.look_at(near(camera.x, x, wide), near(camera.y, y, high), scale);
    }

    toggle(group) {
      const { state, scene } = this, box = scene.ofGroup.get(group), frame = scene.frames.find((one) => one.group === group);
      if (box === undefined && !frame) return;
      const was = frame ? [frame.x, frame.y - frame.h / 2] : [scene.boxes[4 * box], scene.boxes[4 * box + 1] - scene.boxes[4 * box + 3] / 2];
      if (state.open.has(group)) state.open.delete(group); else state.open.add(group);
      if (!state.open.has(group)) state.selected = -1 - group;
      this.rebuild(false);
      const now = this.scene.frames.find((one) => one.group === group), at = this.scene.ofGroup.get(group), { boxes } = this.scene;
      const is = now ? [now.x, now.y - now.h / 2] : [boxes[4 * at], boxes[4 * at + 1] - boxes[4 * at + 3] / 2];
      // The opened or closed group keeps its position on the screen.
      this.camera = { ...this.camera, x: this.camera.x + is[0] - was[0], y: this.camera.y + is[1] - was[1] };
      if (now) {
        const first = this.firstIn(group);
        if (first >= 0) this.select(first, true);
      } else this.select(at, true);
    }

    firstIn(group) {
      const { folding, scene } = this, member = folding.member[folding.starts[group]];
      return member >= 0 ? scene.boxOf[member] : scene.ofGroup.get(-1 - member) ?? this.firstIn(-1 - member);
    }

    foldAround() {
      const { selected } = this.state, inside = selected >= 0 ? this.folding.home[selected] : this.folding.parent[-1 - selected];
      if (selected !== null && inside > 0) this.toggle(inside);
    }

    all(isOpen) {
      const groups = this.folding.parent.length;
      this.state.open = new Set(isOpen ? Array.from({ length: groups - 1 }, (_, at) => at + 1) : []);
      this.rebuild(true);
      this.keep();
    }

    // Open the groups that hide a node.
    uncover(node) {
      this.state.selected = node;
      if (this.scene.ids[this.scene.boxOf[node]] === node) return;
      for (let group = this.folding.home[node]; group > 0; group = this.folding.parent[group]) this.state.open.add(group);
      this.rebuild(false);
    }

    reveal(node) {
      this.uncover(node);
      const box = this.scene.boxOf[node];
      this.select(box);
      this.look_at(this.scene.boxes[4 * box], this.scene.boxes[4 * box + 1], Math.max(this.camera.scale, 0.7));
    }

    refold(folding) {
      const { selected } = this.state;
      Object.assign(this.state, { folding, open: new Set(this.plan.foldings[folding].open), selected: null });
      this.controls.show();
      this.rebuild(true);
      if (selected !== null && selected >= 0) this.select(this.scene.boxOf[selected], true);
      this.keep();
    }

    // Keys: arrows move along edges and between neighbors; the help lists the other keys.
    walk(key) {
      const { scene } = this, from = this.selectedBox(), { boxes } = scene;
      if (!scene.count) return;
      if (from < 0) { this.select(this.firstInSight(), true); return; }
      const x = boxes[4 * from], y = boxes[4 * from + 1];
      const closest = (found) => found.reduce((best, one) => (best < 0 || Math.abs(boxes[4 * one] - x) + Math.abs(boxes[4 * one + 1] - y) < Math.abs(boxes[4 * best] - x) + Math.abs(boxes[4 * best + 1] - y) ? one : best), -1);
      let to = -1;
      if (key === "ArrowDown") to = closest(scene.near.after[from]);
      else if (key === "ArrowUp") to = closest(scene.near.before[from]);
      else {
        const way = key === "ArrowRight" ? 1 : -1, beside = [];
        this.grid.visit(x - 6000, y - 90, x + 6000, y + 90, (one) => { if ((boxes[4 * one] - x) * way > 8) beside.push(one); });
        to = closest(beside);
      }
      if (to >= 0) this.select(to, true);
    }

    firstInSight() {
      let found = -1;
      const { boxes } = this.scene;
      this.grid.visit(...this.painter.sight, (one) => {
        const [left, top, right, bottom] = this.painter.sight, x = boxes[4 * one], y = boxes[4 * one + 1];
        if (x < left || x > right || y < top || y > bottom) return;
        if (found < 0 || y < boxes[4 * found + 1] || (y === boxes[4 * found + 1] && x < boxes[4 * found])) found = one;
      });
      return Math.max(0, found);
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const { key } = event, selected = this.selectedBox();
      const acts = {
        "+": () => this.zoom(STEP), "=": () => this.zoom(STEP), "-": () => this.zoom(1 / STEP), 0: () => this.fit(false),
        "/": () => this.part("search").focus(),
        Enter: () => (selected >= 0 && this.scene.ids[selected] < 0 ? this.toggle(-1 - this.scene.ids[selected]) : this.foldAround()),
        Escape: () => (this.box.classList.contains("wide") ? widen(this) : this.select(-1)),
      };
      const act = key.startsWith("Arrow") ? () => this.walk(key) : Object.hasOwn(acts, key) ? acts[key] : null;
      if (!act) return;
      event.preventDefault();
      act();
    }

    listen() {
      new Pointer(this);
      this.canvas.addEventListener("keydown", (event) => this.key(event));
      new ResizeObserver(() => this.scene && this.redraw()).observe(this.canvas);
      const relook = () => { this.look = surface(); if (this.scene) this.recolor(); };
      new MutationObserver(relook).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", relook);
      addEventListener("hashchange", () => this.read());
      document.addEventListener("layer", ({ detail }) => {
        if (detail.from !== "graph") this.follow(detail);
      });
    }

    // A layer that was chosen elsewhere on the page.
    follow({ prefix, row }) {
      const node = prefix === this.prefix ? this.plan.rows?.indexOf(row) ?? -1 : -1;
      if (node >= 0) this.reveal(node);
    }

    // Store the view in the address: #PREFIXgraph?fold=…&color=…
    keep() {
      if (!this.isReady) return;
      clearTimeout(this.keeping);
      this.keeping = setTimeout(() => {
        const { state, camera, folding } = this, open = [...state.open], all = folding.parent.length - 1;
        const parts = { fold: state.folding, color: state.mode, open: open.length === all && all ? "all" : open.join("."), at: [camera.x.toFixed(0), camera.y.toFixed(0), camera.scale.toPrecision(3)].join(",") };
        if (state.selected !== null) parts.on = state.selected;
        for (const name of ["near", "words", "only", "shapes"]) if (state[name]) parts[name] = state[name];
        if (parts.open.length > 1500) delete parts.open;
        history.replaceState(null, "", "#" + this.prefix + "graph?" + new URLSearchParams(parts));
      }, 250);
    }

    read() {
      const start = "#" + this.prefix + "graph?";
      if (!location.hash.startsWith(start)) return false;
      const found = new URLSearchParams(location.hash.slice(start.length)), { state, plan } = this;
      if (Object.hasOwn(plan.foldings, found.get("fold") ?? "")) state.folding = found.get("fold");
      if ([...this.part("color").options].some((one) => one.value === found.get("color"))) state.mode = found.get("color");
      const groups = this.folding.parent.length, open = found.get("open") ?? "";
      const wanted = open === "all" ? Array.from({ length: groups }, (_, at) => at) : open.split(".").map(Number);
      state.open = new Set(wanted.filter((one) => Number.isInteger(one) && one > 0 && one < groups));
      for (const name of ["words", "only", "shapes"]) state[name] = found.get(name) ?? "";
      state.near = Math.max(0, Number(found.get("near")) || 0);
      const on = Number(found.get("on") ?? NaN);
      state.selected = Number.isInteger(on) && on < plan.count && on >= -groups ? on : null;
      this.controls.show();
      this.rebuild(true);
      const at = (found.get("at") ?? "").split(",").map(Number);
      if (at.length === 3 && at.every(Number.isFinite)) this.look_at(at[0], at[1], at[2], true);
      return true;
    }
  }
