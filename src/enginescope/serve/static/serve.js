"use strict";
// Scripts of the pages besides htmx: the theme, and the choice of two runs to compare. The pages work without them.
(function () {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const kept = localStorage.getItem("enginescope-theme");
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  function name() { button.textContent = isDark() ? "Light" : "Dark"; }
  button.hidden = false;
  name();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem("enginescope-theme", root.dataset.theme);
    name();
  });

  function count() {
    for (const submit of document.querySelectorAll("[data-compare]")) {
      const chosen = submit.form.querySelectorAll("input[name=run]:checked");
      submit.disabled = chosen.length !== 2;
      for (const box of submit.form.querySelectorAll("input[name=run]:not(:checked)")) {
        box.disabled = chosen.length >= 2;
      }
      const said = submit.form.querySelector("[data-chosen]");
      if (said) said.textContent = ["Tick two runs to compare them.", "Tick one more.", ""][chosen.length];
    }
  }
  // What is ticked goes along: into the address, the filter, and links to other parts of the list.
  function keep(event) {
    const picks = document.getElementById("picks");
    if (!picks || event.target.name !== "run") return;
    const ids = [...event.target.form.querySelectorAll("input[name=run]:checked")].map((box) => box.value);
    picks.replaceChildren(...ids.map((value) => Object.assign(document.createElement("input"), { type: "hidden", name: "pick", value })));
    const picked = (address) => {
      const made = new URL(address, location.href);
      made.searchParams.delete("pick");
      for (const id of ids) made.searchParams.append("pick", id);
      return made.pathname + made.search;
    };
    history.replaceState(history.state, "", picked(location.href));
    for (const link of document.querySelectorAll("a[data-keeps]")) link.href = picked(link.href);
  }
  document.addEventListener("change", count);
  document.addEventListener("change", keep);
  document.addEventListener("htmx:afterSettle", count);
  count();
})();
