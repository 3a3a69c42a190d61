  // What is known of a box, in the side panel, the live region and the tooltip.
  const FEW = 12, BARE = new Set(["Time", "Type", "Repeats", "Precision", "Tactic", "Difference"]);

  // Titles and texts; what is not known is left out.
  function factsOf(scene, box) {
    const { plan, folding } = scene, id = scene.ids[box], sum = id < 0 ? folding.sums[-1 - id] : null;
    const { nodes, strings } = plan, ms = sum ? sum.ms : nodes.ms[id], isLayer = sum ? false : plan.isLayer[id];
    const time = [msText(ms), shareText(ms, plan.total_ms)].filter(Boolean).join(" · ");
    const facts = [["Time", plan.isTimed && (sum || isLayer) ? time || "not in the profile" : time], ["Difference", plan.changeText(folding, id)]];
    if (sum) facts.push(["Layers", sum.layers.toLocaleString("en-US")], ["Repeats", strings[folding.repeat[-1 - id]]]);
    else facts.push(["Type", [isLayer ? "#" + nodes.index[id] : "", plan.heading(id), strings[nodes.subtype[id]]].filter(Boolean).join(" · ")]);
    if (isLayer) facts.push(["Precision", plan.precisions[nodes.precision[id]][0]], ["Tactic", strings[nodes.tactic[id]]]);
    if (isLayer && plan.overlay) facts.push([plan.overlay.title, Number.isNaN(plan.overlay.of[id]) ? "not in the file" : number(plan.overlay.of[id])]);
    return facts.filter(([, text]) => text);
  }

  // What a tooltip says of a box: also its name and its first findings.
  function tipOf(scene, box) {
    const found = (scene.plan.findingsOf.get(scene.ids[box]) ?? []).slice(0, 3).map((one) => [one[0], one[2]]);
    return [["Name", scene.label(box)], ...factsOf(scene, box), ...found];
  }

  // A box in one line, for screen readers.
  function spoken(scene, box) {
    const { after, before } = scene.near, [[, name], ...facts] = tipOf(scene, box), isGroup = scene.ids[box] < 0;
    const ends = `${before[box].length} in, ${after[box].length} out`, said = ([title, text]) => (title === "Layers" ? `group of ${text} layers` : BARE.has(title) ? text : `${title} ${text}`);
    return [name, ...facts.map(said), ends, isGroup ? "Enter unfolds" : ""].filter(Boolean).join(", ");
  }

  // A list with a title; of a long one the first, and how many more there are.
  function listed(title, items, most = FEW) {
    if (!items.length) return "";
    const more = items.length > most ? [pageElement("li", { textContent: `and ${(items.length - most).toLocaleString("en-US")} more` })] : [];
    return pageElement("div", {}, pageElement("h4", { textContent: title }), pageElement("ul", {}, ...items.slice(0, most).map((one) => pageElement("li", {}, ...one)), ...more));
  }

  class Panel {
    constructor(view) {
      this.view = view;
      this.place = view.part("panel");
    }

    empty({ plan, folding }) {
      const sum = pageCount(plan.layerCount, "layer") + (plan.isTimed ? `, ${msText(plan.total_ms)} in sum` : "; no profile: they have no times");
      const lines = [sum, "Choose a layer or a group to see what is known of it."];
      this.place.replaceChildren(pageElement("h3", { textContent: plan.groupName(folding, 0) }), ...lines.map((textContent) => pageElement("p", { className: "quiet", textContent })));
    }

    show(scene, box) {
      const id = scene.ids[box], parts = id >= 0 ? this.node(scene.plan, id) : this.group(scene, -1 - id);
      const facts = [...factsOf(scene, box), ...parts.facts.map(pageWorded)];
      this.place.replaceChildren(pageElement("h3", { textContent: scene.label(box) }), parts.acts, pageList(facts), this.findings(parts.findings), ...parts.more, ...this.neighbors(scene, box));
      this.place.scrollTop = 0;
    }

    node(plan, node) {
      const { view } = this, { nodes, strings } = plan, isLayer = plan.isLayer[node], row = view.rowOf(node), fields = isLayer && pageFields(view.prefix, row);
      const span = (from, to) => Array.from({ length: to - from }, (_, at) => [pageElement("code", { textContent: strings[nodes.tensor[from + at]] }), " " + strings[nodes.text[from + at]]]);
      const [first, last, outputs] = [nodes.starts[node], nodes.starts[node + 1], nodes.outputs[node]];
      const onnx = Array.from(nodes.onnx.slice(nodes.onnxStarts[node], nodes.onnxStarts[node + 1]), (one) => [strings[one]]);
      const tensors = isLayer ? [listed("Inputs", span(first, outputs), Infinity), listed("Outputs", span(outputs, last), Infinity)] : [listed("Tensor", span(first, last))];
      return {
        acts: isLayer ? this.acts(plan.name(node), row) : "", findings: plan.findingsOf.get(node) ?? [],
        facts: row < 0 ? [] : pageFacts(view.prefix, row, SAID).filter(([, text]) => !/^0x[0-9a-f]+$/i.test(text)),
        more: [...tensors, listed("ONNX nodes", onnx), fields ? this.fields(fields) : ""],
      };
    }

    group({ plan, folding, coloringParts }, group) {
      const found = plan.within(folding, group).flatMap((node) => plan.findingsOf.get(node) ?? []);
      return {
        acts: pageElement("p", { className: "acts" }, pageButton("Unfold (Enter)", () => this.view.toggle(group))), findings: [...new Set(found)],
        facts: coloringParts(group).map(([, part, name]) => [name, Math.round(100 * part) + " %"]), more: [],
      };
    }

    acts(name, row) {
      const { view } = this, { selected } = view.state, line = pageElement("p", { className: "acts" }), table = view.prefix + "table-layers";
      if (view.folding.home[selected] > 0) line.append(pageButton("Fold around it", () => view.foldAround()));
      if (row >= 0 && document.getElementById(table)) {
        const link = pageElement("a", { href: "#" + table, textContent: "In the table of layers" });
        Object.assign(link.dataset, { table, row });
        link.addEventListener("click", () => view.box.classList.contains("wide") && widen(view));
        line.append(link);
      }
      line.append(pageButton("Copy name", (button) => pageCopy(name, button)));
      return line;
    }

    // The layer as the plan's file has it, inflated when first asked for.
    fields(said) {
      const shown = said.then((one) => (one ? JSON.stringify(one, null, 2) : "The page leaves it out; enginescope explore --json has it."), (error) => error.message);
      const text = pageElement("pre", { textContent: "reading …", tabIndex: 0 }), copy = pageButton("Copy", async (button) => pageCopy(await shown, button));
      const box = pageElement("details", {}, pageElement("summary", { textContent: "JSON in the plan" }), copy, text);
      box.addEventListener("toggle", async () => { text.textContent = await shown; });
      return box;
    }

    findings(found) {
      return listed(pageCount(found.length, "finding"), found.map(([code, severity, message, advice, saving]) => [pageElement("p", { className: "graph-finding " + severity },
        pageElement("strong", { textContent: `${code} ${severity}` }), ` ${message}${saving ? ` (saves ${saving})` : ""}`, pageElement("br"), pageElement("em", { textContent: "→ " + advice }))]));
    }

    neighbors(scene, box) {
      const { after, before } = scene.near;
      return [["Fed by", before[box]], ["Feeds", after[box]]].map(([title, found]) => {
        const short = pageShorten(found.slice(0, FEW).map((one) => scene.label(one)), 44);
        return listed(title, found.map((one) => [pageButton(short.get(scene.label(one)) ?? scene.label(one), () => this.view.select(one, true), { title: scene.label(one) })]));
      });
    }
  }
