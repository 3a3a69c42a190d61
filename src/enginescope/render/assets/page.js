"use strict";
(() => {
  const data = reportData;
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

  // Charts, one after the other so that the page stays usable while they are drawn.
  let drawing = 0;
  async function drawCharts() {
    const mine = ++drawing;
    root.dataset.charts = "drawing";
    const config = data.themes[isDark() ? "dark" : "light"];
    for (const [id, spec] of Object.entries(data.charts)) {
      await new Promise((resume) => setTimeout(resume));
      if (mine !== drawing) return;
      const place = document.getElementById(id);
      if (!place) continue;
      try {
        // The interpreter (ast) needs no eval, which the page's policy forbids.
        await vegaEmbed(place, spec, {
          actions: false, renderer: "svg", ast: true, config, tooltip: { theme: isDark() ? "dark" : "light" },
        });
      } catch (error) {
        place.textContent = "This picture could not be drawn: " + error.message;
        console.error(id, error);
      }
    }
    root.dataset.charts = "drawn";
  }

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

  drawCharts();
})();
