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
    }
  }
  document.addEventListener("change", count);
  document.addEventListener("htmx:afterSettle", count);
  count();
})();
