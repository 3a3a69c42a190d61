// In a notebook: a picture is replaced by its chart or graph, where scripts run.
window.enginescopeLive ??= (() => {
  const boxes = (key) => document.querySelectorAll(`[data-enginescope="${key}"]:not([data-live])`);
  const make = (name, style, ...children) => {
    const one = Object.assign(document.createElement(name), {});
    one.style.cssText = style;
    one.append(...children);
    return one;
  };
  const tip = make("dl", "position:fixed;z-index:99;margin:0;padding:6px 10px;max-width:420px;pointer-events:none;background:#fff;color:#1b1f27;border:1px solid #ccd;border-radius:8px;font:12.5px system-ui,sans-serif;box-shadow:0 4px 14px rgba(0,0,0,.18)");
  tip.hidden = true;
  tip.className = "enginescope-tip";
  function showTip(_handler, event, _item, value) {
    tip.hidden = !value || typeof value !== "object";
    tip.style.display = tip.hidden ? "none" : "block";
    if (tip.hidden) return;
    document.body.append(tip);
    tip.replaceChildren(...Object.entries(value).map(([name, text]) => {
      const term = make("dt", "color:#5b6472;min-width:64px"), shown = make("dd", "margin:0;overflow-wrap:anywhere");
      term.textContent = name;
      shown.textContent = text;
      return make("div", "display:flex;gap:10px", term, shown);
    }));
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 4)) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 4)) + "px";
  }

  async function chart(key, spec) {
    const vega = await window.enginescopeVega;
    for (const box of boxes(key)) {
      box.dataset.live = "chart";
      const place = make("div", "overflow-x:auto;background:#fff");
      const view = new vega.View(vega.parse(spec), { renderer: "svg", hover: true });
      await view.tooltip(showTip).initialize(place).runAsync();
      box.querySelector("img").replaceWith(place);
      if (!spec.usermeta?.zooms) continue;
      place.title = "Drag to move; to zoom, turn the wheel with Ctrl held; a double click resets";
      place.addEventListener("dblclick", () => { delete box.dataset.live; place.replaceWith(new Image()); chart(key, spec); });
    }
  }
  // The graph has a page of its own, apart from the notebook's; the picture goes when that runs.
  function graph(key, page) {
    for (const box of boxes(key)) {
      box.dataset.live = "graph";
      const frame = make("iframe", "width:100%;height:840px;border:0"), picture = box.querySelector("img");
      frame.setAttribute("sandbox", "allow-scripts");
      frame.title = picture.alt;
      const late = setTimeout(() => frame.remove(), 8000);
      addEventListener("message", (event) => {
        if (event.source !== frame.contentWindow || event.data !== "enginescope-graph") return;
        clearTimeout(late);
        picture.remove();
      });
      frame.srcdoc = page;
      box.append(frame);
    }
  }
  const failed = (error) => console.error("enginescope: the picture stays", error);
  return {
    chart(key, spec) {
      const start = () => chart(key, spec).catch(failed);
      if (window.enginescopeVega) start(); else document.addEventListener("enginescope-vega", start, { once: true });
    },
    graph,
  };
})();
