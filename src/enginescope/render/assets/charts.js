"use strict";
// Charts: drawn when nearly visible, with tooltips, zoom, legends with switches, and export to files.
pageStart(() => {
  const { charts: specs, themes } = reportData, root = document.documentElement;
  const PICTURE = 760;
  const charts = new Map();
  const near = new Set(), drawnAs = new Map();
  let isDrawing = false;
  for (const [id, spec] of Object.entries(specs)) {
    const place = document.getElementById(id);
    if (place) charts.set(place, spec);
  }
  // Where there is little room, legends have columns and titles of axes end with the axis.
  const isNarrow = (place) => place.clientWidth > 0 && place.clientWidth < 480;
  const look = (place) => pageTheme() + (isNarrow(place) ? " narrow" : "");
  const left = (places) => [...places].filter((place) => drawnAs.get(place) !== look(place));
  function configOf(place, theme) {
    const config = themes[theme];
    if (!isNarrow(place)) return config;
    const stacked = { direction: "vertical", margin: 4 }, fit = Math.max(1, Math.floor(place.clientWidth / 145));
    return {
      ...config,
      axisX: { titleAnchor: "end" },
      axisY: { labelLimit: 120 },
      legend: {
        ...config.legend, columns: fit, columnPadding: 4, gradientLength: 110, labelLimit: 150, titleLimit: 200,
        layout: { bottom: stacked, top: stacked },
      },
    };
  }

  // The rest that is known of a layer that a mark stands for.
  const SAID = ["#", "Layer", "Time ms", "% of sum", "Findings", "Implementation", "As profiled", "ONNX nodes"];
  function moreOf(event, datum, value) {
    const id = event.target.closest?.(".vis")?.id, row = id ? pageRow(id, datum?.name, datum?.place) : -1;
    const titles = new Set(Object.keys(value));
    return row < 0 ? [] : pageFacts(id, row, SAID).filter(([title]) => !titles.has(title.toLowerCase()));
  }

  function showTip(_handler, event, item, value) {
    const isShown = value && typeof value === "object";
    pageTip(event, isShown ? [...Object.entries(value), ...moreOf(event, item?.datum, value)].map(pageWorded) : null);
  }

  // The interpreter (ast) does not need eval, which the page's policy forbids.
  const embed = (place, spec, theme) => vegaEmbed(place, spec, {
    actions: false, renderer: "svg", ast: true, config: configOf(place, theme), tooltip: showTip,
  });

  async function draw(place) {
    drawnAs.set(place, look(place));
    try {
      const { view } = await embed(place, charts.get(place), pageTheme());
      place.vega = view;
      if (reportData.chosen) frame(place, reportData.chosen);
      view.addEventListener("click", (_event, item) => {
        if (item?.datum) document.dispatchEvent(new CustomEvent("bar", { detail: { place, datum: item.datum } }));
        pageSelect(place.id, item?.datum?.name, item?.datum?.place);
      });
      place.dispatchEvent(new Event("drawn"));
      addTools(place);
    } catch (error) {
      place.textContent = "This picture could not be drawn: " + error.message;
      console.error(place.id, error);
    }
  }

  // A layer that is chosen anywhere is framed in every chart that draws it.
  function frame(place, { prefix, name }) {
    const view = place.vega;
    if (!place.id.startsWith(prefix + "chart-") || !view?.getState().signals || !("picked" in view.getState().signals)) return;
    view.signal("picked", name).runAsync();
  }
  document.addEventListener("layer", ({ detail }) => { for (const place of charts.keys()) frame(place, detail); });

  // A saved picture has its title, a fixed width and the page's background.
  async function picture(place) {
    const figure = place.closest("figure"), theme = pageTheme();
    const lines = [...figure.querySelectorAll("figcaption p")].map((one) => one.textContent);
    const title = { text: figure.querySelector("h2, h3").firstChild.textContent, subtitle: lines };
    const spec = charts.get(place), config = { ...themes[theme], background: getComputedStyle(document.body).backgroundColor };
    const stacked = spec.vconcat && { vconcat: spec.vconcat.map((one) => ({ ...one, width: PICTURE })) };
    const whole = { ...spec, ...stacked, title, padding: 18, ...(stacked ? {} : { width: PICTURE }) };
    const made = await vegaEmbed(document.createElement("div"), whole, { actions: false, renderer: "none", ast: true, config });
    return made.view;
  }
  const WAYS = {
    SVG: async (place, name) => pageSave(name + ".svg", new Blob([await (await picture(place)).toSVG()], { type: "image/svg+xml" })),
    PNG: async (place, name) => {
      const canvas = await (await picture(place)).toCanvas(2);
      canvas.toBlob((data) => pageSave(name + ".png", data));
    },
    CSV: (place, name) => {
      const rows = [...place.closest("figure").querySelectorAll("details tr")].map((row) => [...row.cells].map((cell) => cell.textContent));
      pageSave(name + ".csv", new Blob([pageCsv(rows)], { type: "text/csv" }));
    },
  };
  function addTools(place) {
    const figure = place.closest("figure");
    figure.querySelector(".chart-tools")?.remove();
    const name = place.id.replace(/^.*chart-/, ""), tools = pageElement("div", { className: "chart-tools" });
    const add = (text, title, act) => tools.append(pageButton(text, act, { title }));
    if (charts.get(place).usermeta?.zooms) {
      add("Reset zoom", "Drag to move; to zoom, turn the wheel with Ctrl held, or pinch", () => draw(place));
    }
    for (const [kind, act] of Object.entries(WAYS)) {
      if (kind === "CSV" && !figure.querySelector("details table")) continue;
      add(kind, `Save this chart as ${kind}`, () => act(place, name));
    }
    figure.querySelector("figcaption").append(tools);
  }

  // Draw visible and nearly visible charts one after the other, so that the page stays responsive.
  async function drawCharts() {
    root.dataset.charts = "drawing";
    if (isDrawing) return;
    isDrawing = true;
    for (let one; (one = left(near)[0]);) {
      await new Promise((resume) => setTimeout(resume));
      if (near.has(one)) await draw(one);
    }
    isDrawing = false;
    root.dataset.charts = "drawn";
  }

  const sight = new IntersectionObserver((entries) => {
    for (const one of entries) near[one.isIntersecting ? "add" : "delete"](one.target);
    drawCharts();
  }, { rootMargin: "600px 0px" });
  for (const place of charts.keys()) sight.observe(place);
  // Printing needs all charts: wait for promises only, because the browser waits for nothing else.
  addEventListener("beforeprint", async () => {
    root.dataset.charts = "drawing";
    await Promise.all(left(charts.keys()).map(draw));
    if (!isDrawing) root.dataset.charts = "drawn";
  });
  document.addEventListener("theme", drawCharts);
  addEventListener("resize", drawCharts);
  if (!charts.size) drawCharts();
});
