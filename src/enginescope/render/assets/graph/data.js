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
      for (const one of Object.values(this.foldings)) this.prepare(one);
      // Sum over the whole profile: layers that are not drawn take time too.
      this.totalMs = this.total_ms;
    }

    // Compute the position of each node and the sums of each group.
    prepare(folding) {
      const groups = folding.parent.length;
      folding.home = new Int32Array(this.count);
      folding.sums = Array.from({ length: groups }, () => ({
        layers: 0, nodes: 0, ms: null, change: null, severity: 0, families: new Map(), precisions: new Map(),
      }));
      for (let group = 0; group < groups; group++) {
        for (let at = folding.starts[group]; at < folding.starts[group + 1]; at++) {
          if (folding.member[at] >= 0) folding.home[folding.member[at]] = group;
        }
      }
      for (let node = 0; node < this.count; node++) {
        const ms = this.nodes.ms[node], weight = this.isTimed ? ms || 0 : this.isLayer[node];
        for (let group = folding.home[node]; group >= 0; group = folding.parent[group]) {
          const sum = folding.sums[group];
          sum.nodes += 1;
          if (!this.isLayer[node]) continue;
          sum.layers += 1;
          if (!Number.isNaN(ms)) sum.ms = (sum.ms ?? 0) + ms;
          if (this.change && !Number.isNaN(this.change[node])) sum.change = (sum.change ?? 0) + this.change[node] / this.sharing.get(this.pairs[node]);
          sum.severity = Math.max(sum.severity, this.severity[node]);
          add(sum.families, this.nodes.family[node], weight);
          add(sum.precisions, this.nodes.precision[node], weight);
        }
      }
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
      folding.short ??= pageShorten(Array.from(folding.name, (_, at) => this.groupName(folding, at)), 26);
      return folding.short.get(this.groupName(folding, group)) ?? this.groupName(folding, group);
    }

    isReformat(node) { return /reformat/i.test(this.strings[this.nodes.type[node]]); }

    groupName(folding, group) {
      const copies = folding.copies[group];
      return this.strings[folding.name[group]] + (copies ? " × " + copies.toLocaleString("en-US") : "");
    }

    groupPath(folding, group) {
      const copies = folding.copies[group];
      return this.strings[folding.path[group]] + (copies ? " × " + copies.toLocaleString("en-US") : "");
    }

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

  function msText(ms) {
    if (ms === null || ms === undefined || Number.isNaN(ms)) return "";
    if (ms === 0) return "0 ms";
    return (ms >= 100 ? Math.round(ms).toLocaleString("en-US") : Number(ms.toPrecision(3)).toString()) + " ms";
  }
  function shareText(ms, total) {
    return ms && total ? Number(((100 * ms) / total).toPrecision(2)) + " %" : "";
  }
  function countText(count, what) {
    return count.toLocaleString("en-US") + " " + what + (count === 1 ? "" : "s");
  }
  function shortened(text, limit) { return pageShorten([text], limit).get(text) ?? text; }
