  // Two graphs side by side: linked layers, one camera, one selection, colors by time won and lost.
  const MOST_LINKS = 150;

  class Pair {
    constructor(box, plans) {
      this.box = box;
      this.plans = plans;
      this.part = (name) => box.querySelector('[data-part="' + name + '"]');
      this.row = this.rows = null;
      this.offset = { x: 0, y: 0 };
      this.links = [];
      this.isTimed = plans.every((plan) => plan.isTimed);
      for (const plan of plans) {
        plan.nodesOf = new Map();
        plan.pairs.forEach((row, node) => { if (row >= 0) put(plan.nodesOf, row, node); });
      }
      const [a, b] = plans, shared = Object.keys(a.foldings).filter((one) => Object.hasOwn(b.foldings, one));
      this.shared = shared;
      this.first = shared.includes(a.first) && shared.includes(b.first) ? (a.first === "none" ? b.first : a.first) : null;
      this.views = [];
      [...box.querySelectorAll(".pair-side")].forEach((side, at) => { this.views[at] = new Side(side, plans[at], this); });
      this.furnish();
      this.rebuilt(true);
      this.legend();
      document.addEventListener("pair", ({ detail }) => this.show(detail));
      new ResizeObserver(() => this.redraw()).observe(box);
      box.dataset.state = "ready";
      this.show(pairList);
    }

    folding(plan) { return this.first ?? plan.first; }

    furnish() {
      const { part, views, shared } = this;
      if (!this.isTimed) part("color").querySelector('[value="change"]').remove();
      furnish(this, shared);
      part("folding").value = views[0].state.folding;
      part("color").value = views[0].state.mode;
    }

    refold(folding) {
      for (const view of this.views) { Object.assign(view.state, { folding, open: new Set(), selected: null }); view.rebuild(false); }
      this.fit(true);
      this.show({ row: this.row, rows: this.rows });
    }

    colorBy(mode) {
      for (const view of this.views) { view.state.mode = mode; view.recolor(); }
      this.redraw();
    }

    all(isOpen) {
      for (const view of this.views) view.all(isOpen);
      this.fit(true);
    }

    zoom(factor) { this.views[0].zoom(factor); }

    other(view) { return this.views[view === this.views[0] ? 1 : 0]; }

    // Map heights of one graph to heights of the other through the places of pairs.
    rebuilt(isFit) {
      const [a, b] = this.views;
      if (!a?.scene || !b?.scene) return;
      const found = new Map(), width = b.scene.count;
      for (const [row, nodes] of this.plans[0].nodesOf) {
        const others = this.plans[1].nodesOf.get(row);
        if (!others) continue;
        for (const one of nodes) for (const other of others) {
          const from = a.scene.boxOf[one], to = b.scene.boxOf[other], key = from * width + to;
          const ms = this.plans[0].change[one] / (nodes.length * others.length);
          const link = found.get(key);
          if (link) { link.rows.add(row); link.ms += ms; } else found.set(key, { from, to, ms, rows: new Set([row]) });
        }
      }
      this.links = [...found.values()];
      const at = (view, box) => view.scene.boxes[4 * box + 1];
      this.map = new Rising(this.links.map(({ from, to }) => [at(a, from), at(b, to)]));
      const groups = this.views.some((view) => view.folding.parent.length > 1);
      for (const name of ["unfold", "fold"]) this.part(name).hidden = !groups;
      if (isFit) this.fit(true);
      this.redraw();
    }

    across(view, { x, y }) {
      const [a, b] = this.views, { offset } = this, middle = (b.scene.width - a.scene.width) / 2;
      return view === a ? { x: x + middle + offset.x, y: this.map.to(y) + offset.y } : { x: x - middle - offset.x, y: this.map.from(y - offset.y) };
    }

    follow(view) {
      const other = this.other(view);
      if (!other?.scene || !this.map) return;
      other.flight = (other.flight ?? 0) + 1;
      other.synced = other.camera = { ...this.across(view, view.camera), scale: view.camera.scale };
      other.redraw();
    }

    lead(view) { for (const one of this.views) one.isLed = false; view.synced = null; }

    // Move both cameras; afterwards the two places stay level.
    fly(places, scale, isAtOnce) {
      const [a, b] = this.views;
      this.offset = { x: 0, y: 0 };
      const level = this.across(a, places[0]);
      this.offset = { x: places[1].x - level.x, y: places[1].y - level.y };
      this.views.forEach((view, at) => { view.isLed = true; view.look_at(places[at].x, places[at].y, scale, isAtOnce); });
      a.redraw();
      b.redraw();
    }

    fit(isFirst) {
      if (this.views.length < 2 || !this.map) return;
      const scale = Math.min(...this.views.map((view) => view.whole(isFirst).scale));
      this.fly(this.views.map((view) => view.whole(isFirst, scale)), scale, isFirst);
    }

    // Tell the list what the reader selected in the graph `led`, which keeps its place.
    pick(row, led, words) {
      this.led = led;
      document.dispatchEvent(new CustomEvent("pick", { detail: { row, words } }));
      this.led = null;
    }

    // Show the list's selection: a row, and the rows to emphasize.
    show({ row, rows }) {
      this.row = row;
      this.rows = rows && new Set(rows);
      const nodes = this.plans.map((plan) => (row === null ? [] : plan.nodesOf.get(row) ?? []));
      this.views.forEach((view, at) => {
        const node = nodes[at][0] ?? null;
        if (node !== null && view !== this.led) view.uncover(node);
        if (row !== null || view !== this.led) view.state.selected = node;
        view.remark();
      });
      const told = this.views.filter((view) => view.selectedBox() >= 0).map((view) => view.plan.label + ": " + spoken(view.scene, view.selectedBox()));
      this.part("live").textContent = told.join(". ");
      if (row !== null) this.bring(); else if (rows?.length && !this.led) this.bringAll(rows);
      this.redraw();
    }

    placeOf(view, box) { return { x: view.scene.boxes[4 * box], y: view.scene.boxes[4 * box + 1] }; }

    // Bring the selected layers level: to the middle, or to the place of the layer that was clicked.
    bring() {
      const boxes = this.views.map((view) => view.selectedBox()), lead = this.led ? this.views.indexOf(this.led) : boxes[0] >= 0 ? 0 : 1;
      if (boxes.every((box) => box < 0)) return;
      const leader = this.views[lead], own = this.placeOf(leader, boxes[lead]), places = [];
      const scale = this.led ? leader.camera.scale : leader.bounded(Math.max(leader.camera.scale, 0.7));
      places[lead] = this.led ? { x: leader.camera.x, y: leader.camera.y } : own;
      const other = this.views[1 - lead], shift = { x: places[lead].x - own.x, y: places[lead].y - own.y };
      this.offset = { x: 0, y: 0 };
      const partner = boxes[1 - lead] >= 0 ? this.placeOf(other, boxes[1 - lead]) : this.across(leader, own);
      places[1 - lead] = { x: partner.x + shift.x, y: partner.y + shift.y };
      this.fly(places, scale);
    }

    bringAll(rows) {
      const bounds = this.views.map((view, at) => {
        const found = rows.flatMap((row) => this.plans[at].nodesOf.get(row) ?? []).map((node) => this.placeOf(view, view.scene.boxOf[node]));
        return [Math.min(...found.map((one) => one.y)), Math.max(...found.map((one) => one.y))];
      });
      const [top, bottom] = bounds.find(([from]) => Number.isFinite(from)) ?? [];
      if (top === undefined) return;
      const high = Math.max(...bounds.filter(([from]) => Number.isFinite(from)).map(([from, to]) => to - from)) + 160;
      const at = bounds.findIndex(([from]) => Number.isFinite(from)), places = [], view = this.views[at];
      const scale = view.bounded(Math.min(0.7, this.views[0].canvas.clientHeight / high));
      places[at] = { x: view.scene.width / 2, y: (top + bottom) / 2 };
      this.offset = { x: 0, y: 0 };
      const [from, to] = bounds[1 - at];
      places[1 - at] = Number.isFinite(from) ? { x: this.views[1 - at].scene.width / 2, y: (from + to) / 2 } : this.across(view, places[at]);
      this.fly(places, scale);
    }

    redraw() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.drawLinks(); });
    }

    // Draw a line from each layer to its counterpart over both graphs, the selected pair's thickest.
    drawLinks() {
      const canvas = this.part("links"), [a, b] = this.views, ratio = devicePixelRatio || 1;
      const width = canvas.clientWidth, height = canvas.clientHeight, pen = canvas.getContext("2d");
      this.box.dataset.links = 0;
      if (!width || !a?.scene || !b?.scene) return;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      const origin = canvas.getBoundingClientRect(), seen = [];
      const areas = this.views.map((view) => view.canvas.getBoundingClientRect());
      const end = (at, box, way) => {
        const view = this.views[at], { boxes } = view.scene, { camera } = view, area = areas[at];
        const x = area.left - origin.left + area.width / 2 + (boxes[4 * box] + (way * boxes[4 * box + 2]) / 2 - camera.x) * camera.scale;
        const y = area.top - origin.top + area.height / 2 + (boxes[4 * box + 1] - camera.y) * camera.scale;
        const left = area.left - origin.left, top = area.top - origin.top;
        return { x: Math.max(left, Math.min(left + area.width, x)), y, isSeen: y > top && y < top + area.height };
      };
      for (const link of this.links) {
        const from = end(0, link.from, 1), to = end(1, link.to, -1);
        if (from.isSeen && to.isSeen) seen.push({ ...link, start: from, stop: to, isChosen: this.row !== null && link.rows.has(this.row), isPicked: !this.rows || [...link.rows].some((row) => this.rows.has(row)) });
      }
      const drawn = seen.length > MOST_LINKS ? seen.sort((one, other) => other.isChosen - one.isChosen || other.isPicked - one.isPicked || Math.abs(other.ms) - Math.abs(one.ms)).slice(0, MOST_LINKS) : seen;
      for (const { start, stop, ms, isChosen, isPicked } of drawn.sort((one, other) => one.isChosen - other.isChosen)) {
        const middle = (start.x + stop.x) / 2;
        pen.globalAlpha = isChosen ? 1 : isPicked ? 0.55 : 0.12;
        pen.lineWidth = isChosen ? 3 : 1.5;
        pen.strokeStyle = isChosen ? a.look.accent : Number.isNaN(ms) ? a.look.soft : diverging(ms / (a.plan.mostChange || 1), a.look.soft);
        pen.beginPath();
        pen.moveTo(start.x, start.y);
        pen.bezierCurveTo(middle, start.y, middle, stop.y, stop.x, stop.y);
        pen.stroke();
      }
      this.box.dataset.links = drawn.length;
    }

    legend() {
      const [view] = this.views, place = this.part("legend");
      if (!view?.coloring) return;
      const { mode, most } = view.coloring, alone = this.plans.some((plan) => plan.isAlone.some(Boolean));
      const rows = alone ? [pageElement("span", { className: "pair-alone" }), pageElement("span", { textContent: "only in one plan" })] : [];
      if (mode === "change") rows.unshift(...legendScale("less time in B, −" + msText(most), "+" + msText(most) + ", more time in B", (part) => diverging(2 * part - 1, view.look.line)));
      else rows.unshift(...[...new Map(this.views.filter((one) => one?.coloring).flatMap((one) => one.coloring.kinds()))].map(([name, color]) => legendRow(color, name)));
      place.replaceChildren(...rows);
    }
  }
