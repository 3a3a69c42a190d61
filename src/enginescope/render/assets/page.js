"use strict";
(() => {
  // Light and dark theme: by the reader's preference, and by a switch.
  const button = document.getElementById("theme");
  const other = () => (pageTheme() === "dark" ? "light" : "dark");
  const rename = () => { button.textContent = other() === "dark" ? "Dark" : "Light"; };
  const retheme = () => { rename(); document.dispatchEvent(new Event("theme")); };
  button.hidden = false;
  rename();
  button.addEventListener("click", () => { document.documentElement.dataset.theme = other(); retheme(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);

  // Downloads contain data of the page itself.
  pageStart(() => {
    for (const link of document.querySelectorAll("a[data-file]")) {
      const name = link.dataset.file, type = name.endsWith(".json") ? "application/json" : "text/csv";
      link.href = URL.createObjectURL(new Blob([reportData.files[name]], { type }));
    }
    for (const list of document.querySelectorAll(".downloads")) list.hidden = false;
  });

  // Commands have a button that copies them.
  for (const command of document.querySelectorAll("pre.command")) {
    command.after(pageButton("Copy", (button) => pageCopy(command.textContent, button), { className: "copy" }));
  }

  // The address has what is chosen: a copy of it shows the same to others.
  if (document.getElementById("find")) {
    const share = pageElement("button", { type: "button", textContent: "Copy link", id: "share" });
    share.addEventListener("click", () => pageCopy(location.href, share));
    button.before(share);
  }

  // The index marks the current section: the one that a link led to, until the page scrolls; else
  // the first in a band near the top.
  const links = new Map([...document.querySelectorAll(".index a")].map((link) => [link.hash.slice(1), link]));
  const narrow = matchMedia("(max-width: 980px)"), sections = document.querySelector(".index details");
  const fold = () => { if (sections) sections.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
  const inBand = new Set();
  let landed = null;
  function markSection() {
    const current = (landed?.top === scrollY && landed.id) || [...links.keys()].find((id) => inBand.has(id));
    if (current === undefined) return;
    for (const [id, link] of links) {
      if (id === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) inBand[entry.isIntersecting ? "add" : "delete"](entry.target.id);
    markSection();
  }, { rootMargin: "-15% 0px -70% 0px" });
  for (const id of links.keys()) {
    const place = document.getElementById(id);
    if (place) watcher.observe(place);
  }

  // Open the folded parts around the target of a link. What is drawn late above the target does not
  // move it away, until the reader scrolls.
  const arrive = () => {
    landed.place.scrollIntoView();
    landed.top = scrollY;
    markSection();
  };
  function land(hash) {
    const place = document.getElementById(decodeURIComponent(hash.slice(1).split("?")[0]));
    if (!place) return;
    pageReveal(place);
    landed = { id: links.has(place.id) ? place.id : undefined, place };
    arrive();
  }
  new ResizeObserver(() => landed && arrive()).observe(document.querySelector("main"));
  for (const input of ["wheel", "touchmove", "pointerdown", "keydown"]) addEventListener(input, () => { landed = null; }, { passive: true });
  addEventListener("hashchange", () => land(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (link && !event.defaultPrevented && link.hash === location.hash) land(link.hash);
  });

  // One tab of each run is open; paper has all of them, one after the other.
  const root = document.documentElement;
  for (const article of document.querySelectorAll("article.run")) {
    const tabs = [...article.querySelectorAll(".tab")], links = [...article.querySelectorAll(".tabs a")];
    for (const [at, link] of links.entries()) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        pageOpenTab(tabs[at]);
        history.replaceState(null, "", link.hash);
      });
    }
    root.classList.add("tabbed");
    pageOpenTab(article.querySelector(".tab.open") ?? tabs[0]);
  }
  addEventListener("beforeprint", () => root.classList.add("on-paper"), { capture: true });
  addEventListener("afterprint", () => root.classList.remove("on-paper"));
  pageStart(() => { if (location.hash) land(location.hash); });

  // One key starts a search: over the page, otherwise in the graph or in the first searchable table.
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea, canvas");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const field = document.querySelector('.find:not([hidden]) input, .graph-live:not([hidden]) [data-part="search"], .tools:not([hidden]) input[type="search"]');
    if (!field) return;
    event.preventDefault();
    pageReveal(field);
    field.focus();
    field.scrollIntoView({ block: "center" });
  });

  // Mark a layer that was selected in a chart in the table and the graph; the line says where.
  const picked = pageElement("p", { className: "picked", hidden: true, role: "status" });
  document.body.append(picked);
  document.addEventListener("layer", ({ detail }) => {
    if (detail.from !== "chart") { picked.hidden = true; return; }
    const to = (anchor, text) => document.getElementById(detail.prefix + anchor) && pageElement("a", { href: "#" + detail.prefix + anchor, textContent: text });
    const close = pageButton("×", () => { picked.hidden = true; }, { title: "Close" });
    const links = [to("graph", "in the graph"), to("layers", "in the table")].filter(Boolean);
    picked.replaceChildren(pageElement("strong", { textContent: detail.name }), " ", ...links.flatMap((one) => [one, " "]), close);
    picked.hidden = false;
  });
})();
