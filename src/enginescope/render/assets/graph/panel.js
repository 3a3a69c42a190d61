  // Details in the side panel, the live region and the tooltip. Text only, never markup.
  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  class Panel {
    constructor(place, act) {
      this.place = place;
      this.act = act;
    }

    empty(scene) {
      const { plan } = scene;
      const hint = element("p", "Choose a layer or a group to see what is known of it.", "quiet");
      const sum = element("p", countText(plan.layerCount, "layer") + (plan.isTimed ? ", " + msText(plan.totalMs) + " in sum" : "; no profile: they have no times"), "quiet");
      this.place.replaceChildren(element("h3", plan.groupName(scene.folding, 0)), sum, hint);
    }

    show(scene, box) {
      const id = scene.ids[box];
      const parts = id >= 0 ? this.node(scene, id) : this.group(scene, -1 - id);
      this.place.replaceChildren(...parts.filter(Boolean), ...this.neighbours(scene, box));
      this.place.scrollTop = 0;
    }

    node(scene, node) {
      const { plan } = scene, { nodes, strings } = plan, isLayer = plan.isLayer[node], ms = nodes.ms[node];
      const about = [isLayer ? "#" + nodes.index[node] : null, plan.heading(node), strings[nodes.subtype[node]] || null].filter(Boolean);
      const facts = [];
      if (isLayer) {
        facts.push(["Time", plan.isTimed ? [msText(ms) || "not in the profile", shareText(ms, plan.totalMs)].filter(Boolean).join(" · ") : "no profile"]);
        if (plan.overlay) facts.push([plan.overlay.title, Number.isNaN(plan.overlay.of[node]) ? "not in the file" : number(plan.overlay.of[node])]);
        facts.push(["Precision", plan.precisions[nodes.precision[node]][0]]);
        if (nodes.tactic[node]) facts.push(["Tactic", strings[nodes.tactic[node]]]);
        facts.push(...this.act.facts(node));
      }
      const outputs = nodes.outputs[node], [first, last] = [nodes.starts[node], nodes.starts[node + 1]];
      const tensor = (at) => [strings[nodes.tensor[at]], strings[nodes.text[at]]];
      const span = (from, to) => Array.from({ length: to - from }, (_, at) => tensor(from + at));
      const onnx = Array.from(nodes.onnx.slice(nodes.onnxStarts[node], nodes.onnxStarts[node + 1]), (one) => strings[one]);
      return [
        element("h3", plan.name(node)), element("p", about.join(" · "), "quiet"), isLayer ? this.row(plan.name(node)) : null,
        this.facts(facts), this.findings(plan.findingsOf.get(node)),
        isLayer ? this.tensors("Inputs", span(first, outputs)) : this.tensors("Tensor", span(first, last)),
        isLayer ? this.tensors("Outputs", span(outputs, last)) : null,
        onnx.length ? this.list(countText(onnx.length, "ONNX node"), onnx) : null,
        isLayer ? this.fields() : null,
      ];
    }

    // The layer as the plan's file has it, inflated when first asked for.
    fields() {
      const { table, row } = this.act.line(), said = pageFields(table, row);
      const box = element("details"), text = element("pre", "reading …"), copy = element("button", "Copy");
      const shown = said.then((one) => (one ? JSON.stringify(one, null, 2) : "The page leaves it out; enginescope explore --json has it."), (error) => error.message);
      copy.type = "button";
      text.tabIndex = 0;
      copy.addEventListener("click", async () => pageCopy(await shown, copy));
      box.addEventListener("toggle", async () => { text.textContent = await shown; });
      box.append(element("summary", "JSON in the plan"), copy, text);
      return box;
    }

    group(scene, group) {
      const { plan, folding } = scene, sum = folding.sums[group];
      const repeat = plan.strings[folding.repeat[group]], facts = [["Layers", sum.layers.toLocaleString("en-US")]];
      if (repeat) facts.push(["Repeats", repeat]);
      if (plan.isTimed) facts.push(["Time", [msText(sum.ms) || "not in the profile", shareText(sum.ms, plan.totalMs)].filter(Boolean).join(" · ")]);
      const kinds = scene.coloringParts(group).map(([, part, name]) => [name, Math.round(100 * part) + " %"]);
      const found = new Map();
      for (const node of plan.within(folding, group)) for (const one of plan.findingsOf.get(node) ?? []) add(found, one, 1);
      const open = element("button", "Unfold (Enter)");
      open.type = "button";
      open.addEventListener("click", () => this.act.unfold(group));
      const row = element("p", null, "graph-acts");
      row.append(open);
      return [
        element("h3", plan.groupPath(folding, group)), element("p", repeat ? "repeats" : "group", "quiet"), row,
        this.facts([...facts, ...kinds]), this.findings([...found.keys()]),
      ];
    }

    row(name) {
      const row = element("p", null, "graph-acts"), around = element("button", "Fold around it"), copy = element("button", "Copy name");
      copy.type = "button";
      copy.addEventListener("click", () => pageCopy(name, copy));
      around.type = "button";
      around.addEventListener("click", () => this.act.foldAround());
      row.append(around);
      around.hidden = !this.act.isInGroup();
      const { table, row: line } = this.act.line();
      if (line >= 0 && document.getElementById(table)) {
        const link = element("a", "In the table of layers");
        Object.assign(link.dataset, { table, row: line });
        link.href = "#" + table;
        link.addEventListener("click", () => this.act.leave());
        row.append(link);
      }
      row.append(copy);
      return row;
    }

    facts(pairs) {
      const list = element("dl");
      for (const [name, value] of pairs) list.append(element("dt", name), element("dd", value));
      return list;
    }

    findings(found) {
      if (!found?.length) return null;
      const box = element("div");
      box.append(element("h4", countText(found.length, "finding")));
      for (const [code, severity, message, advice, saving] of found.slice(0, 12)) {
        const one = element("p", null, "graph-finding " + severity);
        one.append(element("strong", code + " " + severity), element("span", " " + message + (saving ? " (saves " + saving + ")" : "")), element("br"), element("em", "→ " + advice));
        box.append(one);
      }
      if (found.length > 12) box.append(element("p", "and " + (found.length - 12).toLocaleString("en-US") + " more", "quiet"));
      return box;
    }

    tensors(title, pairs) {
      if (!pairs.length) return null;
      const box = element("div"), list = element("ul");
      for (const [name, text] of pairs) {
        const one = element("li");
        one.append(element("code", name), element("span", text ? " " + text : ""));
        list.append(one);
      }
      box.append(element("h4", title), list);
      return box;
    }

    list(title, texts) {
      const box = element("details"), list = element("ul");
      box.open = texts.length <= 6;
      box.append(element("summary", title), list);
      for (const one of texts.slice(0, 200)) list.append(element("li", one));
      if (texts.length > 200) list.append(element("li", "and " + (texts.length - 200).toLocaleString("en-US") + " more"));
      return box;
    }

    neighbours(scene, box) {
      const { after, before } = scene.near;
      return [["Fed by", before[box]], ["Feeds", after[box]]].filter(([, found]) => found.length).map(([title, found]) => {
        const part = element("div"), list = element("ul", null, "graph-near");
        part.append(element("h4", title), list);
        const short = pageShorten(found.slice(0, 12).map((one) => scene.label(one)), 44);
        for (const one of found.slice(0, 12)) {
          const item = element("li"), go = element("button", short.get(scene.label(one)) ?? scene.label(one));
          go.type = "button";
          go.title = scene.label(one);
          go.addEventListener("click", () => this.act.select(one));
          item.append(go);
          list.append(item);
        }
        if (found.length > 12) list.append(element("li", "and " + (found.length - 12) + " more"));
        return part;
      });
    }
  }

  // A fact of the table of layers in words: bytes and times with their units.
  function worded([title, text]) {
    const value = Number(text.replaceAll(",", "")), [what, unit] = title.split(/, (?=bytes$)| (?=ms$)/);
    if (!unit || Number.isNaN(value)) return [title, text];
    const size = value < 1024 ? value + " B" : value < 2 ** 20 ? Number((value / 1024).toPrecision(3)) + " KiB" : Number((value / 2 ** 20).toPrecision(3)).toLocaleString("en-US") + " MiB";
    return [what, unit === "ms" ? msText(value) : size];
  }

  // What a tooltip says of a box: name, time, precision, tactic, findings.
  function tipOf(scene, box) {
    const { plan, folding } = scene, id = scene.ids[box], isLayer = id >= 0 && plan.isLayer[id], sum = id < 0 ? folding.sums[-1 - id] : null;
    const ms = sum ? sum.ms : plan.nodes.ms[id], facts = [["Time", [msText(ms), shareText(ms, plan.totalMs)].filter(Boolean).join(" · ")], ["Difference", plan.changeText(folding, id)]];
    if (sum) facts.push(["Layers", sum.layers.toLocaleString("en-US")]); else facts.push(["Type", plan.heading(id)]);
    if (isLayer) facts.push(["Precision", plan.precisions[plan.nodes.precision[id]][0]], ["Tactic", plan.strings[plan.nodes.tactic[id]]]);
    facts.push(...(plan.findingsOf.get(id) ?? []).slice(0, 3).map((one) => [one[0], one[2]]));
    const list = element("dl");
    for (const [name, value] of facts) if (value) list.append(element("dt", name), element("dd", value));
    return [element("strong", scene.label(box)), list];
  }

  // Describe a box in one line, for screen readers.
  function spoken(scene, box) {
    const { plan, folding } = scene, id = scene.ids[box], { after, before } = scene.near;
    const ends = before[box].length + " in, " + after[box].length + " out";
    if (id < 0) {
      const sum = folding.sums[-1 - id];
      return [plan.groupPath(folding, -1 - id), "group of " + countText(sum.layers, "layer"), msText(sum.ms), shareText(sum.ms, plan.totalMs), plan.changeText(folding, id), ends, "Enter unfolds"].filter(Boolean).join(", ");
    }
    const found = plan.findingsOf.get(id) ?? [];
    return [
      plan.name(id), plan.heading(id), plan.isLayer[id] ? plan.precisions[plan.nodes.precision[id]][0] : "",
      msText(plan.nodes.ms[id]), shareText(plan.nodes.ms[id], plan.totalMs), plan.changeText(folding, id), ends, ...found.slice(0, 3).map((one) => one[0] + " " + one[2]),
    ].filter(Boolean).join(", ");
  }
