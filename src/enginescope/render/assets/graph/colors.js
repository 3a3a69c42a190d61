  // Colors and their meaning. No color is the only sign: the graph also shows headings and times.
  const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
  const SEVERITY_COLORS = { none: "#7A869A", info: "#56B4E9", warning: "#E69F00", error: "#D55E00" };
  const PLAIN = "#7A869A";

  function channels(hex) { return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)); }

  function viridis(part) {
    const at = Math.max(0, Math.min(1, part)) * (VIRIDIS.length - 1), low = Math.min(VIRIDIS.length - 2, Math.floor(at));
    const a = channels(VIRIDIS[low]), b = channels(VIRIDIS[low + 1]);
    return "#" + a.map((one, k) => Math.round(one + (b[k] - one) * (at - low)).toString(16).padStart(2, "0")).join("");
  }

  // Less time is blue, more time is vermillion; the square root makes small changes visible.
  const LESS = "#0072b2", MORE = "#d55e00";
  function diverging(part, neutral) {
    const end = channels(part < 0 ? LESS : MORE), start = channels(neutral), at = Math.sqrt(Math.min(1, Math.abs(part)));
    return "#" + start.map((one, k) => Math.round(one + (end[k] - one) * at).toString(16).padStart(2, "0")).join("");
  }

  function inkOn(hex) {
    const [r, g, b] = channels(hex).map((one) => one / 255).map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.24 ? "#14171c" : "#ffffff";
  }

  function legendRow(tag, color, words) {
    const row = element(tag), dot = element("span", null, "graph-dot");
    dot.style.background = color;
    row.append(dot, element("span", words));
    return row;
  }

  class Coloring {
    constructor(scene, mode) {
      const { plan } = scene;
      this.scene = scene;
      this.mode = mode === "time" && !plan.isTimed ? "type" : mode;
      // Compare layers with the slowest layer, and groups with the longest visible group: a layer keeps
      // its color when groups fold.
      this.most = this.mode === "change" ? plan.mostChange : plan.nodes.ms.reduce((most, one) => (one > most ? one : most), 0);
      this.neutral = this.mode === "change" ? surface().line : null;
      this.mostOfGroups = scene.ids.reduce((most, id) => Math.max(most, id < 0 ? this.ms(id) ?? 0 : 0), 0);
      this.cached = scene.ids.map((id) => this.colorOf(id));
    }

    get isFilled() { return this.mode === "time" || this.mode === "change"; }

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
        return ms === null || Number.isNaN(ms) ? null : viridis(Math.sqrt(ms / ((id < 0 ? this.mostOfGroups : this.most) || 1)));
      }
      if (this.mode === "change") {
        const ms = id >= 0 ? plan.change[id] : folding.sums[-1 - id].change;
        return ms === null || Number.isNaN(ms) ? null : diverging(ms / (this.most || 1), this.neutral);
      }
      if (this.mode === "findings") {
        const severity = id >= 0 ? plan.severity[id] : folding.sums[-1 - id].severity;
        return SEVERITY_COLORS[SEVERITIES[severity]];
      }
      const table = this.mode === "type" ? plan.families : plan.precisions;
      if (id >= 0) return table[this.mode === "type" ? plan.nodes.family[id] : plan.nodes.precision[id]][1];
      const parts = this.partsOf(-1 - id);
      return parts.length ? parts[0][0] : PLAIN;
    }

    of(box) { return this.cached[box]; }

    // Return the colors in a group with their share, the largest share first.
    partsOf(group) {
      const { plan, folding } = this.scene, sum = folding.sums[group];
      const [table, map] = this.mode === "precision" ? [plan.precisions, sum.precisions] : [plan.families, sum.families];
      const whole = [...map.values()].reduce((a, b) => a + b, 0);
      if (!whole) return [];
      return [...map].sort((a, b) => b[1] - a[1]).map(([key, weight]) => [table[key][1], weight / whole, table[key][0]]);
    }

    edge(edge) {
      const { plan } = this.scene;
      if (this.mode !== "precision" || !plan.edges.tensor[edge]) return null;
      return plan.precisions[plan.edges.precision[edge]][1];
    }

    // Return names and colors of the layers' types or precisions.
    kinds() {
      const { plan } = this.scene, [table, column] = this.mode === "precision" ? [plan.precisions, plan.nodes.precision] : [plan.families, plan.nodes.family];
      return [...new Set(column.filter((_, node) => plan.isLayer[node]))].map((one) => table[one]);
    }

    // Return the rows of the legend: color, text, and a test for nodes.
    legend() {
      const { plan, folding } = this.scene, sum = folding.sums[0];
      if (this.mode === "findings") {
        const counts = [0, 0, 0, 0];
        for (let node = 0; node < plan.count; node++) if (plan.isLayer[node]) counts[plan.severity[node]] += 1;
        return SEVERITIES.map((name, at) => ({
          color: SEVERITY_COLORS[name], key: "s" + at, words: (name === "none" ? "no finding" : name) + " " + counts[at].toLocaleString("en-US"),
          has: (node) => plan.isLayer[node] && plan.severity[node] === at,
        })).filter((_, at) => counts[at]).reverse();
      }
      const isType = this.mode !== "precision", table = isType ? plan.families : plan.precisions;
      const column = isType ? plan.nodes.family : plan.nodes.precision, weights = isType ? sum.families : sum.precisions;
      const counts = new Map();
      for (let node = 0; node < plan.count; node++) if (plan.isLayer[node]) add(counts, column[node], 1);
      return [...counts].sort((a, b) => (weights.get(b[0]) ?? 0) - (weights.get(a[0]) ?? 0) || b[1] - a[1]).map(([key, count]) => ({
        color: table[key][1], key: (isType ? "t" : "p") + table[key][0],
        words: [table[key][0], count.toLocaleString("en-US"), plan.isTimed ? "· " + (shareText(weights.get(key), plan.totalMs) || "0 %") : ""].join(" "),
        has: (node) => plan.isLayer[node] && column[node] === key,
      }));
    }
  }
