  // Layout of the visible graph: open groups grow in place, and the rest of their column makes room.
  const PAD = 16, HEAD = 30;
  const ENTRY = -1, EXIT = -2;

  // An axis that stretches where an item on it grows; growth of items side by side counts once.
  class Stretch {
    constructor(intervals) {
      const widest = new Map();
      for (const [start, end, extra] of intervals) {
        const key = start + " " + end;
        if (extra > (widest.get(key)?.[2] ?? 0)) widest.set(key, [start, end, extra]);
      }
      const sorted = [...widest.values()].sort((a, b) => a[0] - b[0]);
      this.at = [...new Set(sorted.flatMap(([start, end]) => [start, end]))].sort((a, b) => a - b);
      this.before = [0];
      this.rate = [];
      let next = 0, active = [];
      for (let segment = 0; segment + 1 < this.at.length; segment++) {
        while (next < sorted.length && sorted[next][0] <= this.at[segment]) active.push(sorted[next++]);
        active = active.filter(([, end]) => end > this.at[segment]);
        const rate = active.reduce((most, [start, end, extra]) => Math.max(most, extra / (end - start)), 0);
        this.rate.push(rate);
        this.before.push(this.before[segment] + rate * (this.at[segment + 1] - this.at[segment]));
      }
    }

    map(value) {
      const { at } = this;
      if (!at.length || value <= at[0]) return value;
      if (value >= at[at.length - 1]) return value + this.before[at.length - 1];
      let low = 0, high = at.length - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (at[middle] <= value) low = middle; else high = middle;
      }
      return value + this.before[low] + this.rate[low] * (value - at[low]);
    }
  }

  // The columns that a tall level is wrapped into: each stretches by itself.
  class Columns {
    constructor(layout) {
      const { borders } = layout, count = Math.max(1, borders.length / 2);
      this.layout = layout;
      this.right = Array.from({ length: count }, (_, at) => (borders.length ? borders[2 * at + 1] : Infinity));
      this.tall = this.right.map(() => []);
      this.made = [];
    }

    grow(x, interval) { this.tall[this.at(x)].push(interval); }

    // The column of a place; the lines between two columns belong to the one on their left.
    at(x) {
      const { borders } = this.layout;
      let found = 0;
      while (2 * found + 2 < borders.length && x >= borders[2 * found + 2] - 0.5) found += 1;
      return found;
    }

    map(x, y) {
      const at = this.at(x), isHead = x > this.right[at] + 0.5 && y < this.layout.height / 3;
      return isHead ? y : (this.made[at] ??= new Stretch(this.tall[at])).map(y);
    }

    get height() {
      const { x, y, height } = this.layout, feet = this.right.map(() => 0);
      for (let place = 0; place < x.length; place++) feet[this.at(x[place])] = Math.max(feet[this.at(x[place])], y[place]);
      const below = height - Math.max(...feet);
      return Math.max(height, ...feet.map((foot, at) => (this.tall[at].length ? this.map(this.right.length > 1 ? this.right[at] : 0, foot + below) : 0)));
    }
  }

  class Scene {
    constructor(plan, folding, open) {
      this.plan = plan;
      this.folding = folding;
      this.open = open;
      this.ids = [];
      this.boxes = [];
      this.frames = [];
      this.points = [];
      this.starts = [0];
      this.flat = [];
      this.from = [];
      this.to = [];
      this.back = [];
      const whole = this.measure(0);
      this.width = whole.width;
      this.height = whole.height;
      this.place(0, whole, 0, 0, null);
      this.count = this.ids.length;
      this.edgeCount = this.flat.length;
      this.points = Float64Array.from(this.points);
      this.seeNodes();
    }

    // Compute sizes from the inner groups to the outer groups.
    measure(group) {
      const { folding, plan } = this, layout = plan.layouts[folding.layout[group]];
      const [groupWidth, groupHeight] = plan.sizes.group, inner = new Map(), wide = [], columns = new Columns(layout);
      for (let at = folding.starts[group], place = 0; at < folding.starts[group + 1]; at++, place++) {
        const child = -1 - folding.member[at];
        if (child < 0 || !this.open.has(child)) continue;
        const size = this.measure(child);
        size.frameWidth = Math.max(size.width + 2 * PAD, groupWidth);
        size.frameHeight = size.height + HEAD + PAD;
        inner.set(place, size);
        const x = layout.x[place], y = layout.y[place];
        wide.push([x - groupWidth / 2, x + groupWidth / 2, Math.max(0, size.frameWidth - groupWidth)]);
        columns.grow(x, [y - groupHeight / 2, y + groupHeight / 2, Math.max(0, size.frameHeight - groupHeight)]);
      }
      const across = new Stretch(wide);
      return { layout, inner, across, columns, width: across.map(layout.width), height: columns.height };
    }

    // Compute positions from the outer groups to the inner groups. `frame` belongs to the open group, whose border its edges cross.
    place(group, size, left, top, frame) {
      const { folding, plan } = this, { layout, across, columns } = size, ends = [];
      const [groupWidth, groupHeight] = plan.sizes.group, [layerWidth, layerHeight] = plan.sizes.layer;
      for (let at = folding.starts[group], place = 0; at < folding.starts[group + 1]; at++, place++) {
        const member = folding.member[at], inner = size.inner.get(place), isLayer = member >= 0;
        const oldX = layout.x[place], oldY = layout.y[place];
        const oldW = isLayer ? layerWidth : groupWidth, oldH = isLayer ? layerHeight : groupHeight;
        const end = {
          oldX, oldY, oldW, oldH, inner, seen: -1, frame: null,
          w: inner ? inner.frameWidth : oldW, h: inner ? inner.frameHeight : oldH,
          x: left + (across.map(oldX - oldW / 2) + across.map(oldX + oldW / 2)) / 2,
          y: top + (columns.map(oldX, oldY - oldH / 2) + columns.map(oldX, oldY + oldH / 2)) / 2,
        };
        ends.push(end);
        if (inner) {
          end.frame = { group: -1 - member, x: end.x, y: end.y, w: end.w, h: end.h, entries: new Map(), exits: new Map() };
          this.frames.push(end.frame);
        } else {
          end.seen = this.ids.length;
          this.ids.push(member);
          this.boxes.push(end.x, end.y, end.w, end.h);
        }
      }
      this.route(group, size, [left, top], ends, frame);
      for (const { inner, frame: own } of ends) {
        if (own) this.place(own.group, inner, own.x - inner.width / 2, own.y - own.h / 2 + HEAD, own);
      }
    }

    route(group, size, [left, top], ends, frame) {
      const { layout, across, columns } = size, { edges } = this.plan, first = this.folding.edgeStarts[group];
      for (let edge = 0; edge < layout.source.length; edge++) {
        const flat = this.folding.edge[first + edge], key = edges.kind[flat] + " " + edges.tensor[flat];
        const source = ends[layout.source[edge]], target = ends[layout.target[edge]];
        const begin = layout.starts[edge], end = layout.starts[edge + 1];
        // Edges that share a path start where they separate: only the first edge reaches the border.
        const isFromBorder = layout.source[edge] === ENTRY && layout.points[2 * begin + 1] < 1;
        if (isFromBorder && frame.entries.has(key)) this.points.push(frame.entries.get(key), frame.y - frame.h / 2);
        for (let at = begin; at < end; at++) {
          let x = layout.points[2 * at], y = layout.points[2 * at + 1];
          const box = at === begin ? source : at === end - 1 ? target : null;
          if (box && atBorder(box, x, y)) {
            const side = Math.max(-1, Math.min(1, (x - box.oldX) / (box.oldW / 2)));
            x = box.x + Math.max(-box.w / 2 + 6, Math.min(box.w / 2 - 6, side * (box.oldW / 2)));
            y = box.y + (y > box.oldY ? box.h / 2 : -box.h / 2);
            if (box.frame) (box === target ? box.frame.entries : box.frame.exits).set(key, x);
          } else {
            [x, y] = [left + across.map(x), top + columns.map(x, y)];
          }
          this.points.push(x, y);
        }
        if (layout.target[edge] === EXIT && frame.exits.has(key)) {
          this.points.push(this.points.at(-2), top + size.height, frame.exits.get(key), frame.y + frame.h / 2);
        }
        this.starts.push(this.points.length / 2);
        this.flat.push(flat);
        this.from.push(source ? source.seen : -1);
        this.to.push(target ? target.seen : -1);
        this.back.push(layout.back[edge]);
      }
    }

    // Map each node to its visible box, and each box to the boxes that it feeds.
    seeNodes() {
      const { folding, plan } = this, ofGroup = new Map();
      this.boxOf = new Int32Array(plan.count).fill(-1);
      this.ids.forEach((id, at) => { if (id >= 0) this.boxOf[id] = at; else ofGroup.set(-1 - id, at); });
      for (let node = 0; node < plan.count; node++) {
        for (let group = folding.home[node]; this.boxOf[node] < 0 && group > 0; group = folding.parent[group]) {
          const box = ofGroup.get(group);
          if (box !== undefined) this.boxOf[node] = box;
        }
      }
      this.ofGroup = ofGroup;
    }

    get near() {
      if (this.neighbours) return this.neighbours;
      const after = Array.from({ length: this.count }, () => []), before = after.map(() => []);
      const { source, target } = this.plan.edges, seen = new Set();
      for (let edge = 0; edge < source.length; edge++) {
        const a = this.boxOf[source[edge]], b = this.boxOf[target[edge]], key = a * this.count + b;
        if (a === b || seen.has(key)) continue;
        seen.add(key);
        after[a].push(b);
        before[b].push(a);
      }
      this.neighbours = { after, before };
      return this.neighbours;
    }

    // Return the boxes within a number of edges, in both directions.
    around(box, steps) {
      const found = new Set([box]), { after, before } = this.near;
      let border = [box];
      for (let step = 0; step < steps; step++) {
        border = border.flatMap((one) => [...after[one], ...before[one]]).filter((one) => !found.has(one) && found.add(one));
      }
      return found;
    }
  }

  function atBorder(box, x, y) {
    return Math.abs(x - box.oldX) <= box.oldW / 2 + 1 && Math.abs(Math.abs(y - box.oldY) - box.oldH / 2) < 1;
  }

  // Index boxes and edges by the cells of a grid, so that only visible ones are drawn.
  class Grid {
    constructor(scene) {
      const cells = 40_000, area = Math.max(1, scene.width * scene.height);
      this.scene = scene;
      this.cell = Math.max(400, Math.sqrt(area / cells), scene.height / cells);
      this.columns = Math.max(1, Math.ceil(scene.width / this.cell) + 1);
      this.boxes = new Map();
      this.edges = new Map();
      this.long = [];
      this.stamp = new Uint32Array(scene.edgeCount);
      this.round = 0;
      for (let box = 0; box < scene.count; box++) {
        put(this.boxes, this.key(scene.boxes[4 * box], scene.boxes[4 * box + 1]), box);
      }
      for (let edge = 0; edge < scene.edgeCount; edge++) this.addEdge(edge);
    }

    key(x, y) { return Math.floor(y / this.cell) * this.columns + Math.max(0, Math.min(this.columns - 1, Math.floor(x / this.cell))); }

    addEdge(edge) {
      const { points, starts } = this.scene;
      let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
      for (let at = starts[edge]; at < starts[edge + 1]; at++) {
        left = Math.min(left, points[2 * at]); right = Math.max(right, points[2 * at]);
        top = Math.min(top, points[2 * at + 1]); bottom = Math.max(bottom, points[2 * at + 1]);
      }
      const first = this.key(left, top), last = this.key(right, bottom);
      const columns = (last % this.columns) - (first % this.columns), rows = Math.floor(last / this.columns) - Math.floor(first / this.columns);
      if ((columns + 1) * (rows + 1) > 24) { this.long.push([edge, top, bottom]); return; }
      for (let row = 0; row <= rows; row++) {
        for (let column = 0; column <= columns; column++) put(this.edges, first + row * this.columns + column, edge);
      }
    }

    // Call back with each item that touches a rectangle.
    visit(left, top, right, bottom, onBox, onEdge) {
      const [wide, high] = this.scene.plan.sizes.group, clamp = (one) => Math.max(0, Math.min(this.columns - 1, Math.floor(one / this.cell)));
      const column0 = clamp(left - wide), column1 = clamp(right + wide);
      const row0 = Math.max(0, Math.floor((top - high) / this.cell));
      const row1 = Math.min(Math.floor(this.scene.height / this.cell) + 1, Math.floor((bottom + high) / this.cell));
      this.round += 1;
      for (let row = row0; row <= row1; row++) {
        for (let column = column0; column <= column1; column++) {
          const key = row * this.columns + column;
          if (onEdge) for (const edge of this.edges.get(key) ?? []) {
            if (this.stamp[edge] !== this.round) { this.stamp[edge] = this.round; onEdge(edge); }
          }
          if (onBox) for (const box of this.boxes.get(key) ?? []) onBox(box);
        }
      }
      if (onEdge) for (const [edge, from, to] of this.long) if (from <= bottom && to >= top) onEdge(edge);
    }

    boxAt(x, y) {
      let found = -1;
      const { boxes } = this.scene;
      this.visit(x, y, x, y, (box) => {
        const at = 4 * box;
        if (Math.abs(x - boxes[at]) <= boxes[at + 2] / 2 && Math.abs(y - boxes[at + 1]) <= boxes[at + 3] / 2) found = box;
      });
      return found;
    }

    frameAt(x, y) {
      let found = -1;
      this.scene.frames.forEach((one, at) => {
        if (Math.abs(x - one.x) <= one.w / 2 && Math.abs(y - one.y) <= one.h / 2) found = at;
      });
      return found;
    }
  }

  function put(map, key, value) {
    const list = map.get(key);
    if (list) list.push(value); else map.set(key, [value]);
  }
