"use strict";
// The layers' time as an icicle: groups above the layers in them, tactics below. Width is time, color is × floor,
// without floors the kind of work. At the end stands the time of the whole that is in no layer.
pageStart(() => {
  const ROW = 24, DEEPEST = 6, LETTER = 7.2, SHORTEST = 9, FARTHEST = 100, DOT = 9;
  const TIP = ["time", "raw", "distance", "bound", "precision", "tactic", "type", "findings"];

  class Icicle {
    constructor(box, prefix, data) {
      Object.assign(this, data, { box, prefix, focus: 0, chosen: -1 });
      this.canvas = box.querySelector("canvas");
      this.part = (name) => box.querySelector(`[data-part="${name}"]`);
      const { length } = this.rows, groups = this.names.length;
      this.home = new Int32Array(length);
      this.depth = new Int32Array(groups);
      this.inside = Array.from({ length: groups }, () => []);
      for (let group = 0; group < groups; group++) {
        this.home.fill(group, this.starts[group], this.stops[group]);
        if (!group) continue;
        this.depth[group] = this.depth[this.parents[group]] + 1;
        this.inside[this.parents[group]].push(group);
      }
      this.place = new Map(this.rows.map((row, at) => [row, at]));
      this.tactic = pageColumn(prefix, "tactic");
      this.found = pageColumn(prefix, "findings");
      this.numbers = new Map([...box.parentElement.querySelectorAll(".where tr[data-row]")].map((line, at) => [Number(line.dataset.row), `${at + 1}`]));
      box.hidden = false;
      this.weigh("time");
      this.listen();
    }

    // Add up the times, and for the colors own times and floors of the layers that have both.
    weigh(key) {
      const { length } = this.rows, own = pageTimes(this.prefix, "time"), distance = pageColumn(this.prefix, "distance");
      const given = pageTimes(this.prefix, key) ?? pageTimes(this.prefix, "limit");
      const times = own || this.rows.filter((row) => given?.[row]).length > 0.9 * length ? given : null;
      this.unit = own ? "time" : times ? "least time" : "layers";
      for (const name of ["sum", "known", "floor"]) this[name] = new Float64Array(length + 1);
      for (let at = 0; at < length; at++) {
        const row = this.rows[at], ms = times ? times[row] || 0 : 1, ratio = distance && own ? distance.values[row] : null;
        this.sum[at + 1] = this.sum[at] + ms;
        this.known[at + 1] = this.known[at] + (ratio ? own[row] : 0);
        this.floor[at + 1] = this.floor[at] + (ratio ? own[row] / ratio : 0);
      }
      this.hasFloors = this.floor[length] > 0;
      this.byKind = this.hasFloors || !this.kinds ? [] : this.kinds.map((_, kind) => {
        const sum = new Float64Array(length + 1);
        for (let at = 0; at < length; at++) sum[at + 1] = sum[at] + (this.kind[at] === kind ? this.amount(at, at + 1) : 0);
        return sum;
      });
      this.rest = this.unit === "time" && key === "time" ? this.rest_ms ?? 0 : 0;
      this.say();
      this.draw();
    }

    amount(from, to) { return this.sum[to] - this.sum[from]; }
    text(from, to) { return this.unit === "layers" ? pageCount(to - from, "layer") : `${Number(this.amount(from, to).toPrecision(4))} ms`; }
    ratio(from, to) {
      const known = this.known[to] - this.known[from];
      return known > 0.5 * this.amount(from, to) ? known / (this.floor[to] - this.floor[from]) : null;
    }

    say() {
      const start = this.starts[this.focus], stop = this.stops[this.focus], path = [];
      for (let group = this.focus; group >= 0; group = this.parents[group]) path.unshift(this.names[group]);
      const share = this.focus ? ` (${pageShare(this.amount(start, stop), this.sum.at(-1))})` : "";
      const what = this.unit === "layers" ? "no layer times; width is number of layers" : `${this.text(start, stop)}${share}; width is ${this.unit}`;
      this.part("title").textContent = `${path.join(" › ")}: ${pageCount(stop - start, "layer")}, ${what}`;
      const legend = this.byKind.length ? this.kinds.map(([name, color]) => ["kind", name, color]) : [["blank", "floor unknown"]];
      if (this.hasFloors) legend.unshift(["ramp", `1 … ${FARTHEST} × floor`]);
      if (this.found) legend.push(["dot", "finding"]);
      if (this.numbers.size) legend.push(["", "numbers: rows of the list"]);
      this.part("legend").replaceChildren(...legend.map(([className, text, color]) => {
        const mark = className ? [pageElement("i", { className })] : [];
        if (color) mark[0].style.background = color;
        return pageElement("span", {}, ...mark, text);
      }));
    }

    // Zooming goes to a group; a layer far from it zooms out first.
    zoom(group) {
      this.focus = Math.max(0, group);
      this.say();
      this.draw();
    }
    choose(row) {
      this.chosen = this.place.get(row) ?? -1;
      if (this.chosen >= 0 && (this.chosen < this.starts[this.focus] || this.chosen >= this.stops[this.focus])) return this.zoom(0);
      this.draw();
    }

    x(at) { return (this.amount(this.starts[this.focus], at) / this.whole) * this.width; }
    // The first place from `low` on whose sum reaches an amount.
    reach(amount, low, high) {
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.sum[middle] < amount) low = middle + 1; else high = middle;
      }
      return low;
    }

    draw() {
      const { canvas, focus } = this, start = this.starts[focus], stop = this.stops[focus], style = getComputedStyle(document.body);
      this.width = canvas.clientWidth;
      if (!this.width) return;
      this.whole = this.amount(start, stop) + (focus ? 0 : this.rest) || 1;
      let deepest = 0;
      for (let group = focus; group < this.names.length && this.starts[group] < stop; group++) {
        if (this.x(this.stops[group]) - this.x(this.starts[group]) >= 1) deepest = Math.max(deepest, this.depth[group] - this.depth[focus]);
      }
      this.groupRows = Math.min(deepest, DEEPEST) + 1;
      const height = (this.groupRows + 1 + Boolean(this.tactic)) * ROW, scale = devicePixelRatio || 1;
      canvas.style.height = height + "px";
      Object.assign(canvas, { width: this.width * scale, height: height * scale });
      this.colors = Object.fromEntries(["paper", "blank", "near", "far", "ink", "accent", "soft"].map((one) => [one, style.getPropertyValue("--" + one).trim()]));
      this.pen = canvas.getContext("2d");
      this.pen.scale(scale, scale);
      this.pen.font = "12px " + style.fontFamily;
      this.pen.textBaseline = "middle";
      this.group(focus, 0);
      this.layers(start, stop);
      const end = this.x(stop);
      if (this.width - end >= 1) this.rect(end, 0, this.width - end, (this.groupRows + 1) * ROW, this.colors.blank, `in no layer: ${pageMs(this.rest)}`);
      this.mark();
      this.box.dataset.focus = focus;
    }

    fill(from, to) {
      const ratio = this.ratio(from, to), { near, far, blank } = this.colors;
      const parts = this.byKind.map((sum) => sum[to] - sum[from]);
      if (parts.length) return this.kinds[parts.indexOf(Math.max(...parts))][1];
      if (ratio === null) return blank;
      return pageMixed(near, far, Math.min(1, Math.max(0, Math.log(ratio) / Math.log(FARTHEST))));
    }
    // A name is cut only where enough of it is left; a layer of the list has its number there.
    rect(x, y, width, height, fill, label, number = "") {
      const { pen } = this, letter = label ? pen.measureText(label).width / label.length : LETTER, letters = Math.floor((width - 8) / letter), room = letters - (number && number.length + 1);
      pen.fillStyle = fill;
      pen.fillRect(x, y, Math.max(width - (width > 3 ? 1 : 0), 0.6), height - 1);
      const name = label && room >= Math.min(label.length, SHORTEST) ? (pageShorten([label], room).get(label) ?? label) : "";
      if (!name && (!number || letters < number.length)) return;
      pen.fillStyle = pageInk(fill);
      pen.fillText(`${number} ${name}`.trim(), x + 4, y + Math.min(height, ROW) / 2, width - 6);
    }

    // A group fills what is below it; groups narrower than a pixel are one strip down to the layers.
    group(group, row) {
      const bottom = this.groupRows * ROW;
      const from = this.starts[group], to = this.stops[group], x = this.x(from);
      this.rect(x, row * ROW, this.x(to) - x, ROW, this.fill(from, to), (row ? "" : this.focus ? "‹ " : "") + this.names[group]);
      if (row + 1 >= this.groupRows) return;
      this.rect(x, (row + 1) * ROW, this.x(to) - x, bottom - (row + 1) * ROW, this.fill(from, to));
      let strip = null;
      const flush = () => {
        if (strip) this.rect(this.x(strip[0]), (row + 1) * ROW, Math.max(1, this.x(strip[1]) - this.x(strip[0])), bottom - (row + 1) * ROW, this.fill(...strip));
        strip = null;
      };
      for (const one of this.inside[group]) {
        const left = this.starts[one], right = this.stops[one], width = this.x(right) - this.x(left);
        if (width >= 1) { flush(); this.group(one, row + 1); continue; }
        strip = strip && strip[1] === left ? [strip[0], right] : (flush(), [left, right]);
        if (this.x(strip[1]) - this.x(strip[0]) >= 1) flush();
      }
      flush();
    }

    // Layers narrower than a pixel are drawn together; equal tactics side by side are one.
    layers(start, stop) {
      const { sum, pen } = this, pixel = this.whole / this.width, top = this.groupRows * ROW;
      let tactic = null;
      const flush = () => { if (tactic) this.rect(tactic.x, top + ROW, tactic.width, ROW, this.colors.blank, tactic.name); tactic = null; };
      for (let at = start, next; at < stop; at = next) {
        next = at + 1;
        if (sum[next] === sum[at]) continue;
        if (sum[next] - sum[at] < pixel) {
          next = Math.min(stop, this.reach(sum[at] + pixel, next, stop));
          if (next - 1 > at && sum[next] - sum[next - 1] >= pixel) next -= 1;
        }
        const isOne = next === at + 1, x = this.x(at), width = this.x(next) - x, row = this.rows[at];
        const above = this.depth[this.home[at]] - this.depth[this.focus] + 1;
        const y = isOne ? Math.min(above, this.groupRows) * ROW : top;
        this.rect(x, y, width, top + ROW - y, this.fill(at, next), isOne ? pageValue(pageColumn(this.prefix, "name"), row) : "", isOne ? this.numbers.get(row) : "");
        if (isOne && width >= DOT && this.found && pageValue(this.found, row)) {
          Object.assign(pen, { fillStyle: this.colors.accent, strokeStyle: this.colors.paper, lineWidth: 3 });
          pen.beginPath();
          pen.arc(x + width - 6, top + ROW - 7, 3, 0, 7);
          pen.stroke();
          pen.fill();
        }
        if (!this.tactic) continue;
        const name = isOne ? pageValue(this.tactic, row) : null;
        if (!name) flush();
        else if (tactic?.name === name) tactic.width = x + width - tactic.x;
        else { flush(); tactic = { name, x, width }; }
      }
      flush();
    }

    // The chosen layer is framed, however narrow it is.
    mark() {
      const at = this.chosen;
      if (at < this.starts[this.focus] || at >= this.stops[this.focus]) return;
      const x = this.x(at), width = Math.max(2, this.x(at + 1) - x), top = Math.min(this.depth[this.home[at]] - this.depth[this.focus] + 1, this.groupRows) * ROW;
      this.pen.strokeStyle = this.colors.ink;
      this.pen.lineWidth = 2;
      this.pen.strokeRect(x + 1, top + 1, Math.max(1, width - 3), (this.groupRows + 1) * ROW - top - 3);
    }

    // What lies below the pointer: a layer, or a group.
    below(event) {
      const box = this.canvas.getBoundingClientRect(), start = this.starts[this.focus], stop = this.stops[this.focus];
      const amount = this.sum[start] + ((event.clientX - box.left) / box.width) * this.whole;
      if (amount > this.sum[stop] && !this.focus && this.rest) return { group: 0, isRest: true };
      const at = Math.max(start, Math.min(stop - 1, this.reach(amount, start + 1, stop) - 1)), row = Math.floor((event.clientY - box.top) / ROW);
      let group = this.home[at];
      if (row >= this.groupRows || row > this.depth[group] - this.depth[this.focus]) return { at, group };
      while (this.depth[group] - this.depth[this.focus] > row) group = this.parents[group];
      return { group };
    }
    tell(event) {
      const { at, group, isRest } = this.below(event), ratio = (from, to) => this.ratio(from, to)?.toFixed(1);
      if (isRest) return pageTip(event, [["in no layer", pageMs(this.rest)]]);
      if (at !== undefined) return pageTip(event, pageKnown(this.prefix, this.rows[at], ["name", ...TIP]));
      const from = this.starts[group], to = this.stops[group], distance = ratio(from, to);
      const known = [["Group", this.names[group]], ["Layers", (to - from).toLocaleString("en-US")]];
      if (this.unit !== "layers") known.push([this.unit, `${this.text(from, to)}, ${pageShare(this.amount(from, to), this.sum.at(-1))}`]);
      pageTip(event, distance ? [...known, ["× floor", distance]] : known);
    }

    listen() {
      const { canvas } = this;
      canvas.addEventListener("pointermove", (event) => this.tell(event));
      canvas.addEventListener("pointerleave", (event) => pageTip(event, null));
      canvas.addEventListener("click", (event) => {
        const { at, group } = this.below(event);
        if (at === undefined) return this.zoom(group === this.focus ? this.parents[group] : group);
        pageSelect(this.prefix, null, this.rows[at], "icicle");
      });
      canvas.addEventListener("dblclick", (event) => this.zoom(this.below(event).group));
      canvas.addEventListener("keydown", (event) => this.key(event));
      document.addEventListener("layer", ({ detail }) => { if (detail.prefix === this.prefix) this.choose(detail.row); });
      document.addEventListener("theme", () => this.draw());
      new ResizeObserver(() => { if (canvas.clientWidth !== this.width) this.draw(); }).observe(canvas);
    }
    key(event) {
      const step = (by) => {
        const start = this.starts[this.focus], stop = this.stops[this.focus];
        let at = this.chosen < 0 ? start - (by > 0) : this.chosen;
        do at += by; while (at >= start && at < stop && this.amount(at, at + 1) === 0);
        if (at >= start && at < stop) pageSelect(this.prefix, null, this.rows[at], "icicle");
      };
      const acts = {
        ArrowRight: () => step(1), ArrowLeft: () => step(-1),
        Enter: () => this.chosen >= 0 && this.zoom(this.home[this.chosen]), Escape: () => this.zoom(this.parents[this.focus]),
      };
      if (!Object.hasOwn(acts, event.key)) return;
      event.preventDefault();
      acts[event.key]();
    }
  }

  for (const [prefix, data] of Object.entries(reportData.icicles ?? {})) {
    const box = document.querySelector(`article[data-prefix="${prefix}"] .icicle`);
    if (!box || !pageLayers(prefix)) continue;
    const made = new Icicle(box, prefix, data);
    for (const button of box.querySelectorAll("[data-times]")) {
      button.addEventListener("click", () => {
        for (const one of box.querySelectorAll("[data-times]")) one.setAttribute("aria-pressed", String(one === button));
        box.closest("article").classList.toggle("as-profiled", button.dataset.times === "raw");
        made.weigh(button.dataset.times === "raw" ? "raw" : "time");
      });
    }
  }
});
