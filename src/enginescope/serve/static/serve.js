"use strict";
// Scripts of the pages besides htmx: the theme, ages, the chosen job, and the choice of two runs to compare. The pages work without them.
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
  // How long ago something was, while the page stays open; without scripts, the moment itself.
  function age() {
    const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
    for (const at of document.querySelectorAll("time")) {
      const minutes = (Date.parse(at.dateTime) - Date.now()) / 60000;
      const unit = Math.abs(minutes) < 60 ? ["minute", 1] : Math.abs(minutes) < 1440 ? ["hour", 60] : ["day", 1440];
      if (Number.isFinite(minutes)) at.textContent = ago.format(Math.round(minutes / unit[1]), unit[0]);
    }
  }
  // A click anywhere in a row chooses its job; on a narrow window, what is chosen comes into sight.
  document.addEventListener("click", (event) => {
    const row = event.target.closest(".jobs tbody tr");
    if (row && !event.target.closest("a") && !getSelection().toString()) row.querySelector("a").click();
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const panel = document.getElementById("chosen");
    if (event.detail.requestConfig?.elt.id.startsWith("job-") && panel.getBoundingClientRect().top > innerHeight) panel.scrollIntoView();
  });
  setInterval(age, 30000);
  document.addEventListener("htmx:afterSettle", age);
  age();
  document.addEventListener("change", count);
  document.addEventListener("change", keep);
  document.addEventListener("htmx:afterSettle", count);
  count();
})();
