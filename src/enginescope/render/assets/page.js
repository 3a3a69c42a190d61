"use strict";
(() => {
  const data = reportData;
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

  // Charts in sight or near it, one after the other so that the page stays usable while they are
  // drawn; the others as they come near. Each is drawn again for another theme.
  const theme = () => (isDark() ? "dark" : "light");
  const charts = new Map();
  const near = new Set(), drawnAs = new Map();
  let isDrawing = false;
  for (const [id, spec] of Object.entries(data.charts)) {
    const place = document.getElementById(id);
    if (place) charts.set(place, spec);
  }
  const left = (places) => [...places].filter((place) => drawnAs.get(place) !== theme());

  async function draw(place) {
    drawnAs.set(place, theme());
    try {
      // The interpreter (ast) needs no eval, which the page's policy forbids.
      await vegaEmbed(place, charts.get(place), {
        actions: false, renderer: "svg", ast: true, config: data.themes[theme()], tooltip: { theme: theme() },
      });
    } catch (error) {
      place.textContent = "This picture could not be drawn: " + error.message;
      console.error(place.id, error);
    }
  }

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
  // Paper shows all; nothing may be waited for but promises, or it is printed before.
  addEventListener("beforeprint", async () => {
    root.dataset.charts = "drawing";
    await Promise.all(left(charts.keys()).map(draw));
    if (!isDrawing) root.dataset.charts = "drawn";
  });

  // Light and dark: by preference, and by switch.
  const button = document.getElementById("theme");
  const nameButton = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.hidden = false;
  nameButton();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameButton();
    drawCharts();
  });
  prefersDark.addEventListener("change", () => { nameButton(); drawCharts(); });

  // Downloads come out of the page itself.
  for (const link of document.querySelectorAll("a[data-file]")) {
    const name = link.dataset.file;
    const type = name.endsWith(".json") ? "application/json" : "text/csv";
    link.href = URL.createObjectURL(new Blob([data.files[name]], { type }));
  }
  for (const list of document.querySelectorAll(".downloads")) list.hidden = false;

  // The index shows where the reader is.
  const links = new Map([...document.querySelectorAll(".index a")].map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -70% 0px" });
  for (const id of links.keys()) {
    const place = document.getElementById(id);
    if (place) watcher.observe(place);
  }

  if (!charts.size) drawCharts();
})();
