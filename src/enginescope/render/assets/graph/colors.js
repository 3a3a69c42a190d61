  // Colors and their meaning. No color is the only sign: the graph also shows headings and times.
  const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
  const SEVERITY_COLORS = { none: "#7A869A", info: "#56B4E9", warning: "#E69F00", error: "#D55E00" };
  const PLAIN = "#7A869A";

  function viridis(part) {
    const at = Math.max(0, Math.min(1, part)) * (VIRIDIS.length - 1), low = Math.min(VIRIDIS.length - 2, Math.floor(at));
    return pageMixed(VIRIDIS[low], VIRIDIS[low + 1], at - low);
  }

  // Less time is blue, more time is vermillion; the square root makes small changes visible.
  const LESS = "#0072b2", MORE = "#d55e00";
  function diverging(part, neutral) { return pageMixed(neutral, part < 0 ? LESS : MORE, Math.sqrt(Math.min(1, Math.abs(part)))); }

  // A color and what it means; a button where a click does something.
  function legendRow(color, words, act) {
    const row = act ? pageButton("", act, { title: "Show only these" }) : pageElement("span"), dot = pageElement("span", { className: "graph-dot" });
    dot.style.background = color;
    row.append(dot, pageElement("span", { textContent: words }));
    return row;
  }

  // A scale of colors between two words.
  function legendScale(from, to, color) {
    const bar = pageElement("span", { className: "graph-heat" });
    bar.style.background = `linear-gradient(to right, ${Array.from({ length: 17 }, (_, at) => color(at / 16)).join(", ")})`;
    return [pageElement("span", { textContent: from }), bar, pageElement("span", { textContent: to })];
  }

  class Coloring {
    constructor(scene, mode) {
      const { plan } = scene;
      this.scene = scene;
      this.mode = mode === "time" && !plan.isTimed ? "type" : mode;
      // One scale for all that is on the screen, layers and groups: logarithmic, from the fastest tenth up.
      const times = this.mode === "time" ? scene.ids.map((id) => this.ms(id)).filter((ms) => ms > 0).sort((a, b) => a - b) : [];
      this.most = this.mode === "change" ? plan.mostChange : times.at(-1) ?? 0;
      this.least = Math.min(times[Math.floor(times.length / 10)] ?? 0, this.most / 2);
      if (this.mode === "overlay") [this.least, this.most] = plan.overlay.of.reduce(([low, high], one) => [one < low ? one : low, one > high ? one : high], [Infinity, -Infinity]);
      this.longest = scene.ids.reduce((most, id) => Math.max(most, this.ms(id) || 0), 0);
      this.neutral = this.mode === "change" ? surface().line : null;
      this.parts = new Map();
      this.cached = scene.ids.map((id) => this.colorOf(id));
    }

    get isFilled() { return ["time", "change", "overlay"].includes(this.mode); }

    ms(id) {
      const { plan, folding } = this.scene;
      return id >= 0 ? plan.nodes.ms[id] : folding.sums[-1 - id].ms;
    }

    // Return the color of a box; null for a box without one, such as the plan's inputs.
    colorOf(id) {
      const { plan, folding } = this.scene;
      if (id >= 0 && !plan.isLayer[id]) return null;
      if (this.mode === "time") {
        const ms = this.ms(id);
        return ms === null || Number.isNaN(ms) ? null : viridis(ms > this.least ? Math.log(ms / this.least) / Math.log(this.most / this.least) : 0);
      }
      if (this.mode === "overlay") {
        const own = (id >= 0 ? plan.overlay.of[id] : folding.sums[-1 - id].own) ?? NaN;
        return Number.isNaN(own) ? null : viridis((own - this.least) / (this.most - this.least || 1));
      }
      if (this.mode === "change") {
        const ms = id >= 0 ? plan.change[id] : folding.sums[-1 - id].change;
        return ms === null || Number.isNaN(ms) ? null : diverging(ms / (this.most || 1), this.neutral);
      }
      if (this.mode === "findings") {
        const severity = id >= 0 ? plan.severity[id] : folding.sums[-1 - id].severity;
        return SEVERITY_COLORS[SEVERITIES[severity]];
      }
      const [table, column] = this.table;
      if (id >= 0) return table[column[id]][1];
      const parts = this.partsOf(-1 - id);
      return parts.length ? parts[0][0] : PLAIN;
    }

    of(box) { return this.cached[box]; }

    // How long the bar of a box is: its part of the longest time on the screen; whole where there are no times.
    partOf(id) { return this.longest ? (this.ms(id) || 0) / this.longest : 1; }

    // Types, or precisions where these are shown: their names and colors, and the number of each node's.
    get table() {
      const { plan } = this.scene;
      return this.mode === "precision" ? [plan.precisions, plan.nodes.precision] : [plan.families, plan.nodes.family];
    }

    // Return the colors in a group with their share, the largest share first.
    partsOf(group) {
      const { plan, folding } = this.scene, [table, column] = this.table;
      if (!this.parts.has(group)) this.parts.set(group, plan.parts(plan.within(folding, group), column).map(({ key, part }) => [table[key][1], part, table[key][0]]));
      return this.parts.get(group);
    }

    edge(edge) {
      const { plan } = this.scene;
      if (this.mode !== "precision" || !plan.edges.tensor[edge]) return null;
      return plan.precisions[plan.edges.precision[edge]][1];
    }

    // Return names and colors of the layers' types or precisions.
    kinds() {
      const { plan } = this.scene, [table, column] = this.table;
      return [...new Set(column.filter((_, node) => plan.isLayer[node]))].map((one) => table[one]);
    }

    // Return the rows of the legend: color, text, and a test for nodes.
    legend() {
      const { plan, folding } = this.scene, layers = plan.within(folding, 0);
      if (this.mode === "findings") {
        const counts = [0, 0, 0, 0];
        for (const node of layers) counts[plan.severity[node]] += 1;
        return SEVERITIES.map((name, at) => ({
          color: SEVERITY_COLORS[name], key: "s" + at, words: (name === "none" ? "no finding" : name) + " " + counts[at].toLocaleString("en-US"),
          has: (node) => plan.isLayer[node] && plan.severity[node] === at,
        })).filter((_, at) => counts[at]).reverse();
      }
      const [table, column] = this.table;
      return plan.parts(layers, column).map(({ key, count, weight }) => ({
        color: table[key][1], key: this.mode[0] + table[key][0],
        words: [table[key][0], count.toLocaleString("en-US"), plan.isTimed ? "· " + (shareText(weight, plan.total_ms) || "0 %") : ""].join(" "),
        has: (node) => plan.isLayer[node] && column[node] === key,
      }));
    }
  }
