  // Drawing by zoom level: dots, then bars of time, then boxes with names and times.
  const DOTS = 0.07, NAMES = 0.5;
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif";

  function surface() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue("--" + name).trim();
    return { paper: of("paper"), panel: of("panel"), ink: of("ink"), soft: of("soft"), line: of("line"), accent: of("accent"), bad: of("bad"), warn: of("warn") };
  }

  function withAlpha(hex, alpha) { return hex + Math.round(255 * alpha).toString(16).padStart(2, "0"); }

  class Painter {
    constructor(canvas) {
      this.canvas = canvas;
      this.pen = canvas.getContext("2d");
    }

    // camera: x and y of the world at the canvas's center, scale; shown: scene, grid, coloring, marks.
    paint(camera, shown, look) {
      const { pen, canvas } = this, ratio = devicePixelRatio || 1, k = camera.scale;
      const width = canvas.clientWidth, height = canvas.clientHeight;
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
      Object.assign(this, { k, look, shown, camera });
      const left = camera.x - width / 2 / k, top = camera.y - height / 2 / k;
      this.sight = [left, top, left + width / k, top + height / k];
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.fillStyle = look.paper;
      pen.fillRect(0, 0, width, height);
      pen.setTransform(ratio * k, 0, 0, ratio * k, -left * ratio * k, -top * ratio * k);
      this.frames();
      const boxes = [], edges = [];
      shown.grid.visit(...this.sight, (box) => boxes.push(box), k < DOTS / 3 ? null : (edge) => edges.push(edge));
      this.edges(edges);
      if (k < DOTS) this.dots(boxes, width, height); else for (const box of boxes) this.box(box);
      this.drawn = boxes.length;
    }

    frames() {
      const { pen, k, look, shown } = this, [left, top, right, bottom] = this.sight;
      shown.scene.frames.forEach((one) => {
        const x = one.x - one.w / 2, y = one.y - one.h / 2;
        if (x > right || x + one.w < left || y > bottom || y + one.h < top || one.h * k < 4) return;
        pen.fillStyle = withAlpha(look.soft, 0.06);
        pen.strokeStyle = withAlpha(look.soft, 0.55);
        pen.lineWidth = Math.max(1, 0.7 / k);
        pen.beginPath();
        pen.roundRect(x, y, one.w, one.h, 10);
        pen.fill();
        pen.stroke();
        if (k < NAMES / 2) return;
        const words = "▾ " + shown.scene.plan.groupName(shown.scene.folding, one.group);
        pen.font = "600 12px " + FONT;
        pen.textAlign = "left";
        pen.textBaseline = "middle";
        const limit = Math.floor((one.w - 24) / 7), text = shortened(words, Math.max(6, limit));
        pen.fillStyle = look.paper;
        pen.fillRect(x + 8, y + 6, pen.measureText(text).width + 8, 17);
        pen.fillStyle = look.soft;
        pen.fillText(text, x + 12, y + 15);
      });
    }

    edges(edges) {
      const { pen, k, look, shown } = this, { scene, coloring, marks } = shown, styles = new Map();
      const least = 1.5 / k;
      for (const edge of edges) {
        const begin = 2 * scene.starts[edge], end = 2 * scene.starts[edge + 1] - 2, { points } = scene;
        if (k < DOTS && Math.abs(points[end + 1] - points[begin + 1]) + Math.abs(points[end] - points[begin]) < least) continue;
        const flat = scene.flat[edge], kind = scene.plan.edges.kind[flat];
        const isBack = Boolean(scene.back[edge] || kind & CARRIED);
        const isNear = marks.selected >= 0 && (scene.from[edge] === marks.selected || scene.to[edge] === marks.selected);
        const isDim = marks.isDimmed && (marks.isDimmed(scene.from[edge]) || marks.isDimmed(scene.to[edge]));
        const color = isNear ? look.accent : isBack ? look.bad : coloring.edge(flat) ?? look.soft;
        const key = [color, isBack ? "b" : kind & 3, isNear, isDim].join(" ");
        let style = styles.get(key);
        if (!style) styles.set(key, (style = { color, isBack, kind: kind & 3, isNear, isDim, path: new Path2D(), ends: new Path2D() }));
        this.line(style, edge, begin, end);
      }
      for (const one of [...styles.values()].sort((a, b) => a.isNear - b.isNear)) {
        pen.globalAlpha = one.isDim ? 0.15 : 1;
        pen.strokeStyle = pen.fillStyle = one.color;
        pen.lineWidth = Math.max(one.isNear ? 2.4 : one.isBack ? 2 : 1.3, (one.isNear ? 1.6 : 0.8) / k);
        pen.setLineDash(one.isBack ? [9, 4] : one.kind === REUSE ? [6, 4] : one.kind === ORDER ? [2, 4] : []);
        pen.stroke(one.path);
        pen.setLineDash([]);
        if (k >= NAMES / 2) pen.fill(one.ends);
      }
      pen.globalAlpha = 1;
      if (k >= NAMES) this.flows(shown.hasShapes ? edges : edges.filter((edge) => marks.selected >= 0 && [scene.from[edge], scene.to[edge]].includes(marks.selected)));
    }

    line({ path, ends }, edge, begin, end) {
      const { points, to } = this.shown.scene;
      path.moveTo(points[begin], points[begin + 1]);
      for (let at = begin + 2; at <= end; at += 2) {
        const x0 = points[at - 2], y0 = points[at - 1], x = points[at], y = points[at + 1];
        if (x === x0 || y === y0 || this.k < DOTS) path.lineTo(x, y);
        else path.bezierCurveTo(x0, (y0 + y) / 2, x, (y0 + y) / 2, x, y);
      }
      if (to[edge] < 0 || end === begin) return;
      const x = points[end], y = points[end + 1];
      if (points[end - 1] === y && points[end - 2] !== x) {
        const way = Math.sign(x - points[end - 2]);
        triangle(ends, x, y, way * 7, 0, 0, 3.6);
      } else triangle(ends, x, y, 0, Math.sign(y - points[end - 1] || 1) * 7, 3.6, 0);
    }

    // Write each tensor once, next to the edge below its source, if there is room.
    flows(edges) {
      const { pen, look, shown } = this, { scene } = shown, { plan } = scene, said = new Set(), taken = [];
      pen.font = "10px " + FONT;
      pen.textAlign = "left";
      pen.textBaseline = "middle";
      for (const edge of edges) {
        const flat = scene.flat[edge], text = plan.strings[plan.edges.text[flat]];
        const key = scene.from[edge] + " " + plan.edges.tensor[flat];
        if (scene.from[edge] < 0 || !text || said.has(key) || marksDim(shown.marks, scene.from[edge])) continue;
        const isGroup = scene.from[edge] >= 0 && scene.ids[scene.from[edge]] < 0;
        const begin = 2 * scene.starts[edge], x = scene.points[begin] + 5, y = scene.points[begin + 1] + (isGroup ? 18 : 10);
        const words = shortened(text, 34), wide = pen.measureText(words).width;
        if (taken.some((one) => Math.abs(one.y - y) < 12 && x < one.x + one.wide + 4 && one.x < x + wide + 4)) continue;
        said.add(key);
        taken.push({ x, y, wide });
        pen.fillStyle = withAlpha(look.paper, 0.82);
        pen.fillRect(x - 1, y - 6, wide + 2, 12);
        pen.fillStyle = look.soft;
        pen.fillText(words, x, y);
      }
    }

    // Draw one small square for all boxes at a place, with the most important color on top.
    dots(boxes, width, height) {
      const { pen, k, look, shown } = this, { scene, coloring, marks } = shown, [left, top] = this.sight;
      const columns = Math.ceil(width / 2) + 1, rows = Math.ceil(height / 2) + 1;
      const ranks = new Float64Array(columns * rows), owners = new Int32Array(columns * rows), taken = [];
      // A box that is much taller than wide would be too thin to see.
      const wide = scene.height > 20 * scene.width && k < DOTS / 4 ? 12 : 2.5;
      for (const box of boxes) {
        const column = Math.round(((scene.boxes[4 * box] - left) * k) / 2), row = Math.round(((scene.boxes[4 * box + 1] - top) * k) / 2);
        if (column < 0 || row < 0 || column >= columns || row >= rows) continue;
        const cell = row * columns + column, ms = coloring.ms(scene.ids[box]) || 0;
        const rank = 1 + ms + (marksDim(marks, box) ? 0 : 1e9) + (marks.found?.has(box) ? 2e9 : 0);
        if (rank <= ranks[cell]) continue;
        if (!ranks[cell]) taken.push(cell);
        ranks[cell] = rank;
        owners[cell] = box;
      }
      for (const cell of taken) {
        const box = owners[cell], w = Math.max(scene.boxes[4 * box + 2], wide / k), h = Math.max(scene.boxes[4 * box + 3], 2 / k);
        pen.globalAlpha = marksDim(marks, box) ? 0.15 : 1;
        pen.fillStyle = marks.found?.has(box) ? look.accent : coloring.of(box) ?? look.soft;
        pen.fillRect(scene.boxes[4 * box] - w / 2, scene.boxes[4 * box + 1] - h / 2, w, h);
      }
      pen.globalAlpha = 1;
      if (marks.selected >= 0) this.ring(marks.selected, look.accent, 3 / k);
    }

    box(box) {
      const { pen, k, look, shown } = this, { scene, coloring, marks } = shown, { plan } = scene, id = scene.ids[box];
      const [x, y, w, h] = [scene.boxes[4 * box], scene.boxes[4 * box + 1], scene.boxes[4 * box + 2], scene.boxes[4 * box + 3]];
      const color = coloring.of(box), isGroup = id < 0, isRound = !isGroup && plan.isReformat(id);
      pen.globalAlpha = marksDim(marks, box) ? 0.2 : 1;
      const radius = isGroup ? 8 : isRound ? h / 2 : plan.isLayer[id] ? 5 : 0;
      pen.lineWidth = Math.max(1.2, 0.8 / k);
      if (k < NAMES) {
        pen.fillStyle = withAlpha(look.soft, 0.2);
        pen.fillRect(x - w / 2, y - h / 2, w, h);
        pen.fillStyle = color ?? look.soft;
        pen.fillRect(x - w / 2, y - h / 2, Math.max(2 / k, w * coloring.partOf(id)), h / 3);
        const name = isGroup ? plan.shortGroup(scene.folding, -1 - id) : plan.shortName(id), fits = Math.floor((w * k - 4) / 5);
        pen.font = 9 / k + "px " + FONT;
        pen.fillStyle = look.ink;
        pen.textAlign = "left";
        pen.textBaseline = "middle";
        if (h * k >= 15 && fits >= 6) pen.fillText(shortened(name, fits), x - w / 2 + 2 / k, y + h / 6, w - 4 / k);
        if (marks.found?.has(box)) this.ring(box, look.warn, 3);
        if (marks.selected === box) this.ring(box, look.accent, 3);
        pen.globalAlpha = 1;
        return;
      }
      if (isGroup) for (const shift of [8, 4]) this.shape(x + shift, y + shift, w, h, radius, look.paper, color ?? look.soft);
      const fill = color === null ? look.paper : coloring.isFilled ? color : pageMixed(look.paper, color, 0.2);
      if (!isGroup && plan.isAlone?.[id]) this.ring(box, look.ink, 2);
      pen.lineWidth = Math.max(1.2, 0.8 / k);
      if (isRound) pen.setLineDash([4, 2]);
      this.shape(x, y, w, h, radius, fill, coloring.isFilled ? look.soft : color ?? look.soft);
      pen.setLineDash([]);
      this.words(id, x, y, w, h, coloring.isFilled && color !== null ? pageInk(color) : look.ink);
      if (isGroup) this.parts(-1 - id, x, y, w, h);
      const severity = isGroup ? scene.folding.sums[-1 - id].severity : plan.severity[id];
      if (severity >= 2) this.badge(x + w / 2 - 4, y - h / 2 + 4, severity);
      if (marks.found?.has(box)) this.ring(box, look.warn, 3);
      if (marks.selected === box) this.ring(box, look.accent, 3);
      pen.globalAlpha = 1;
    }

    shape(x, y, w, h, radius, fill, stroke) {
      const { pen } = this;
      pen.beginPath();
      pen.roundRect(x - w / 2, y - h / 2, w, h, radius);
      pen.fillStyle = fill;
      pen.strokeStyle = stroke;
      pen.fill();
      pen.stroke();
    }

    words(id, x, y, w, h, ink) {
      const { pen, shown } = this, { scene } = shown, { plan, folding } = scene;
      const isGroup = id < 0, sum = isGroup ? folding.sums[-1 - id] : null, ms = isGroup ? sum.ms : plan.nodes.ms[id];
      const part = plan.change ? plan.changeText(folding, id) : plan.isTimed && (isGroup || plan.isLayer[id]) ? shareText(ms, plan.total_ms) || "0 %" : "";
      const time = [plan.isTimed && ms !== null && !Number.isNaN(ms) ? msText(ms) : "", part].filter(Boolean).join(" · ");
      const first = isGroup ? "▸ " + plan.shortGroup(folding, -1 - id) : plan.heading(id);
      const lines = isGroup ? [[plan.strings[folding.repeat[-1 - id]], pageCount(sum.layers, "layer")].filter(Boolean).join(" · "), time] : [plan.shortName(id), time];
      pen.fillStyle = ink;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.font = "600 12px " + FONT;
      const rows = [first, ...lines.filter(Boolean)], step = 14, start = y - (isGroup ? 4 : 0) - (step * (rows.length - 1)) / 2;
      pen.fillText(shortened(rows[0], isGroup ? 28 : 25), x, start, w - 10);
      pen.font = "11px " + FONT;
      rows.slice(1).forEach((one, at) => pen.fillText(shortened(one, 28), x, start + step * (at + 1), w - 10));
    }

    // Draw the composition of a group as a bar in the colors of the legend.
    parts(group, x, y, w, h) {
      const { pen, shown, look } = this, wide = w - 20;
      let at = x - wide / 2;
      pen.fillStyle = look.paper;
      pen.fillRect(at - 1, y + h / 2 - 9, wide + 2, 6);
      for (const [color, part] of shown.coloring.partsOf(group)) {
        pen.fillStyle = color;
        pen.fillRect(at, y + h / 2 - 8, Math.max(0, wide * part - 0.5), 4);
        at += wide * part;
      }
    }

    badge(x, y, severity) {
      const { pen } = this, color = SEVERITY_COLORS[SEVERITIES[severity]];
      pen.beginPath();
      pen.arc(x, y, 7.5, 0, 2 * Math.PI);
      pen.fillStyle = color;
      pen.fill();
      pen.fillStyle = pageInk(color);
      pen.font = "700 11px " + FONT;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText("!", x, y + 0.5);
    }

    ring(box, color, width) {
      const { pen, k } = this, { boxes } = this.shown.scene, w = boxes[4 * box + 2], h = boxes[4 * box + 3];
      pen.beginPath();
      pen.roundRect(boxes[4 * box] - w / 2 - 4, boxes[4 * box + 1] - h / 2 - 4, w + 8, h + 8, 9);
      pen.strokeStyle = color;
      pen.lineWidth = Math.max(width, 2 / k);
      pen.stroke();
    }
  }

  function marksDim(marks, box) { return Boolean(marks.isDimmed && box >= 0 && marks.isDimmed(box)); }

  function triangle(path, x, y, dx, dy, sideX, sideY) {
    path.moveTo(x, y);
    path.lineTo(x - dx + sideX, y - dy + sideY);
    path.lineTo(x - dx - sideX, y - dy - sideY);
    path.closePath();
  }

  // The map in a corner shows the whole graph and its visible part; a tall plan is compressed to fit.
  class Minimap {
    constructor(canvas) { this.canvas = canvas; this.pen = canvas.getContext("2d"); }

    get scale() {
      const { scene } = this.shown, width = this.canvas.clientWidth - 8, height = this.canvas.clientHeight - 8;
      const x = width / Math.max(1, scene.width), y = height / Math.max(1, scene.height);
      // Compress the longer side at most eight times more, so that a chain is not a line.
      return [Math.min(x, Math.max(y, Math.min(x, y) * 8)), Math.min(y, Math.max(x, Math.min(x, y) * 8))];
    }

    corner() {
      const { scene } = this.shown, [x, y] = this.scale;
      return [(this.canvas.clientWidth - scene.width * x) / 2, (this.canvas.clientHeight - scene.height * y) / 2];
    }

    paint(shown, look, sight) {
      const ratio = devicePixelRatio || 1, { canvas, pen } = this, width = canvas.clientWidth, height = canvas.clientHeight;
      const { scene } = shown, isWhole = sight[0] <= 0 && sight[1] <= 0 && sight[2] >= scene.width && sight[3] >= scene.height;
      canvas.style.visibility = isWhole ? "hidden" : "";
      if (!width || isWhole) return;
      this.shown = shown;
      if (this.key !== shown.coloring || this.look !== look || this.size !== width + " " + height) this.still(ratio, width, height, look);
      pen.setTransform(1, 0, 0, 1, 0, 0);
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      pen.drawImage(this.image, 0, 0);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      const [sx, sy] = this.scale, [cx, cy] = this.corner();
      const x = Math.max(1, cx + sight[0] * sx), y = Math.max(1, cy + sight[1] * sy);
      pen.strokeStyle = look.accent;
      pen.lineWidth = 2;
      pen.strokeRect(x, y, Math.max(4, Math.min(width - 1, cx + sight[2] * sx) - x), Math.max(4, Math.min(height - 1, cy + sight[3] * sy) - y));
    }

    still(ratio, width, height, look) {
      const { scene, coloring } = this.shown, image = document.createElement("canvas"), seen = new Map();
      image.width = Math.round(width * ratio);
      image.height = Math.round(height * ratio);
      const pen = image.getContext("2d"), [sx, sy] = this.scale, [cx, cy] = this.corner();
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.fillStyle = look.panel;
      pen.fillRect(0, 0, width, height);
      for (let box = 0; box < scene.count; box++) {
        const x = cx + scene.boxes[4 * box] * sx, y = cy + scene.boxes[4 * box + 1] * sy, key = Math.round(y * 2) * 1024 + Math.round(x * 2);
        const ms = coloring.ms(scene.ids[box]) || 0, old = seen.get(key);
        if (!old || ms > old[0]) seen.set(key, [ms, box, x, y]);
      }
      for (const [, box, x, y] of seen.values()) {
        const w = Math.max(1.5, scene.boxes[4 * box + 2] * sx), h = Math.max(1, scene.boxes[4 * box + 3] * sy);
        pen.fillStyle = coloring.of(box) ?? look.soft;
        pen.fillRect(x - w / 2, y - h / 2, w, h);
      }
      Object.assign(this, { image, key: coloring, look, size: width + " " + height });
    }

    // Return the position in the graph under a point of the map.
    world(x, y) {
      const [sx, sy] = this.scale, [cx, cy] = this.corner();
      return [(x - cx) / sx, (y - cy) / sy];
    }
  }
