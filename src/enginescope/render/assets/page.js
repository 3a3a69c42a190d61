"use strict";
(() => {
  // Light and dark: by preference, and by switch.
  const button = document.getElementById("theme");
  const other = () => (pageTheme() === "dark" ? "light" : "dark");
  const rename = () => { button.textContent = other() === "dark" ? "Dark" : "Light"; };
  const retheme = () => { rename(); document.dispatchEvent(new Event("theme")); };
  button.hidden = false;
  rename();
  button.addEventListener("click", () => { document.documentElement.dataset.theme = other(); retheme(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);

  // Downloads come out of the page itself.
  for (const link of document.querySelectorAll("a[data-file]")) {
    const name = link.dataset.file;
    const type = name.endsWith(".json") ? "application/json" : "text/csv";
    link.href = URL.createObjectURL(new Blob([reportData.files[name]], { type }));
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

  // A link lands where it points: what is folded opens first.
  function land(hash) {
    const place = document.getElementById(decodeURIComponent(hash.slice(1).split("?")[0]));
    if (!place) return;
    pageReveal(place);
    place.scrollIntoView();
  }
  addEventListener("hashchange", () => land(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (link && !event.defaultPrevented && link.hash === location.hash) land(link.hash);
  });
  if (location.hash) land(location.hash);

  // Paper shows what is folded; afterwards it is folded again.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll(".topic > details:not([open])")];
    for (const one of unfolded) one.open = true;
  }, { capture: true });
  addEventListener("afterprint", () => { for (const one of unfolded) one.open = false; });

  // One key searches: the graph where there is one, else the first table that can be searched.
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea, canvas");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const field = document.querySelector('.graph-live:not([hidden]) [data-part="search"], .tools:not([hidden]) input[type="search"]');
    if (!field) return;
    event.preventDefault();
    pageReveal(field);
    field.focus();
    field.scrollIntoView({ block: "center" });
  });

  // A layer chosen in a chart is marked in the table and in the graph; the line says where.
  const picked = pageElement("p", { className: "picked", hidden: true, role: "status" });
  document.body.append(picked);
  document.addEventListener("layer", ({ detail }) => {
    const to = (anchor, text) => document.getElementById(detail.prefix + anchor) && pageElement("a", { href: "#" + detail.prefix + anchor, textContent: text });
    const close = pageElement("button", { type: "button", textContent: "×", title: "Close" });
    close.addEventListener("click", () => { picked.hidden = true; });
    const links = [to("graph", "in the graph"), to("layers", "in the table")].filter(Boolean);
    picked.replaceChildren(pageElement("strong", { textContent: detail.name }), " ", ...links.flatMap((one) => [one, " "]), close);
    picked.hidden = false;
  });
})();
