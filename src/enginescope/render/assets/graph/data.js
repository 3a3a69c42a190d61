  // The plan's graph as the page embeds it: compressed, names in one table, numbers in typed arrays.
  const KINDS = ["layer", "input", "output", "constant", "tensor"];
  const SEVERITIES = ["none", "info", "warning", "error"];
  const REUSE = 1, ORDER = 2, CARRIED = 4;

  // Each layer has its worst finding and all its findings; groups sum up their layers.
  class Plan {
    constructor(data) {
      Object.assign(this, data);
      this.count = this.nodes.kind.length;
      this.severity = new Uint8Array(this.count);
      this.findingsOf = new Map();
      const { texts, node, finding } = this.findings;
      for (let at = 0; at < node.length; at++) {
        const list = this.findingsOf.get(node[at]) ?? [];
        list.push(texts[finding[at]]);
        this.findingsOf.set(node[at], list);
        this.severity[node[at]] = Math.max(this.severity[node[at]], SEVERITIES.indexOf(texts[finding[at]][1]));
      }
      // In a comparison: the number of this plan's layers in each pair.
      this.sharing = new Map();
      for (const row of this.pairs ?? []) add(this.sharing, row, 1);
      this.isTimed = this.nodes.ms.some((one) => !Number.isNaN(one));
      this.isLayer = this.nodes.kind.map((kind) => (kind === 0 ? 1 : 0));
      this.layerCount = this.isLayer.reduce((sum, one) => sum + one, 0);
    }

    // Return a folding with the group that holds each node, and the sums of each group.
    folding(name) {
      const folding = this.foldings[name], { parent, starts, member } = folding;
      if (folding.sums) return folding;
      folding.home = new Int32Array(this.count);
      folding.sums = Array.from(parent, () => ({ layers: 0, ms: null, change: null, own: null, severity: 0 }));
      const sum = (one, other) => (other === null || other === undefined || Number.isNaN(other) ? one : (one ?? 0) + other);
      for (let group = parent.length - 1; group >= 0; group--) {
        const into = folding.sums[group];
        for (let at = starts[group]; at < starts[group + 1]; at++) {
          const node = member[at], held = node < 0 ? folding.sums[-1 - node] : this.sumOf(node);
          if (node >= 0) folding.home[node] = group;
          if (node >= 0 && !this.isLayer[node]) continue;
          into.layers += held.layers;
          into.ms = sum(into.ms, held.ms);
          into.change = sum(into.change, held.change);
          into.own = held.own === null ? into.own : Math.max(into.own ?? held.own, held.own);
          into.severity = Math.max(into.severity, held.severity);
        }
      }
      return folding;
    }

    sumOf(node) {
      const own = this.overlay?.of[node] ?? NaN;
      return { layers: 1, ms: this.nodes.ms[node], change: this.change ? this.change[node] / this.sharing.get(this.pairs[node]) : null, own: Number.isNaN(own) ? null : own, severity: this.severity[node] };
    }

    // Return the layers in a group.
    within(folding, group) {
      const found = [], waiting = [group];
      while (waiting.length) {
        const one = waiting.pop();
        for (let at = folding.starts[one]; at < folding.starts[one + 1]; at++) {
          const node = folding.member[at];
          if (node < 0) waiting.push(-1 - node); else if (this.isLayer[node]) found.push(node);
        }
      }
      return found;
    }

    // Return how many layers have each value of a column, and their part of the time or of the layers.
    parts(nodes, column) {
      const counts = new Map(), weights = new Map();
      for (const node of nodes) {
        add(counts, column[node], 1);
        add(weights, column[node], this.isTimed ? this.nodes.ms[node] || 0 : 1);
      }
      const whole = [...weights.values()].reduce((sum, one) => sum + one, 0) || 1;
      return [...counts].map(([key, count]) => ({ key, count, weight: weights.get(key), part: weights.get(key) / whole })).sort((a, b) => b.weight - a.weight || b.count - a.count);
    }

    name(node) { return this.strings[this.nodes.name[node]]; }

    heading(node) {
      const kind = KINDS[this.nodes.kind[node]];
      if (kind === "layer" || kind === "constant") return this.strings[this.nodes.type[node]] || kind;
      const generation = this.nodes.generation[node], what = kind === "tensor" ? "region" : kind;
      return generation < 0 ? what : what + ", use " + (generation + 1);
    }

    // Return the difference of time of a layer's pair or of a group, in a comparison.
    changeText(folding, id) {
      if (!this.change) return "";
      if (id >= 0 && this.isAlone[id]) return "only in " + this.label;
      const ms = id >= 0 ? this.change[id] : folding.sums[-1 - id].change;
      const size = id >= 0 ? this.sharing.get(this.pairs[id]) : 1;
      return ms === null || Number.isNaN(ms) ? "" : (ms < 0 ? "−" : ms > 0 ? "+" : "±") + msText(Math.abs(ms)) + (size > 1 ? " for " + size : "");
    }

    // Names as they fit a box; those that differ look different.
    shortName(node) {
      this.short ??= pageShorten(Array.from(this.nodes.name, (one) => this.strings[one]), 28);
      return this.short.get(this.name(node)) ?? this.name(node);
    }

    shortGroup(folding, group) {
      folding.short ??= new Map();
      if (!folding.short.has(group)) folding.short.set(group, shortened(this.groupName(folding, group, "name", false), 26));
      return folding.short.get(group);
    }

    isReformat(node) { return /reformat/i.test(this.strings[this.nodes.type[node]]); }

    // A module has a name of its own; what repeats is called by the first and the last that it holds.
    groupName(folding, group, names = "name", isWhole = true) {
      const repeat = this.strings[folding.repeat[group]], end = (id, isLast) => {
        if (id >= 0) return this.name(id);
        const at = -1 - id, own = this.strings[folding[names][at]];
        return own || end(folding.member[isLast ? folding.starts[at + 1] - 1 : folding.starts[at]], isLast);
      };
      const words = this.strings[folding[names][group]] || end(-1 - group, false) + " … " + end(-1 - group, true);
      return words + (repeat && isWhole ? ", " + repeat : "");
    }

    groupPath(folding, group) { return this.groupName(folding, group, "path"); }

    // Return the nodes whose name, type, tactic or ONNX nodes contain the words; search each string once.
    search(words) {
      const wanted = words.toLowerCase(), found = [];
      const holds = Uint8Array.from(this.strings, (one) => (one.toLowerCase().includes(wanted) ? 1 : 0));
      const { name, type, subtype, tactic, onnx, onnxStarts } = this.nodes;
      for (let node = 0; node < this.count; node++) {
        let hit = holds[name[node]] || holds[type[node]] || holds[subtype[node]] || holds[tactic[node]];
        for (let at = onnxStarts[node]; !hit && at < onnxStarts[node + 1]; at++) hit = holds[onnx[at]];
        if (hit) found.push(node);
      }
      return found;
    }
  }

  function add(map, key, weight) { map.set(key, (map.get(key) ?? 0) + weight); }

  function msText(ms) { return ms === null || ms === undefined || Number.isNaN(ms) ? "" : pageMs(ms); }
  function number(value) { return Number(value.toPrecision(4)).toLocaleString("en-US"); }
  function shareText(ms, total) { return ms && total ? pageShare(ms, total) : ""; }
  function shortened(text, limit) { return pageShorten([text], limit).get(text) ?? text; }
