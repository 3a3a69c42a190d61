"use strict";
// Keys and buttons walk through the changes, or through the reasons that explain the difference.
pageStart(() => {
  if (!pairList) return;
  const box = document.getElementById("graph"), part = (name) => box.querySelector(`[data-part="${name}"]`);
  const { steps, columns } = reportData.pairs, through = part("through"), chart = document.getElementById("chart-waterfall");
  let step = null;

  const isReasons = () => through.value === "reasons";
  function change(row) {
    const { value, number } = pairList, ms = value("difference_ms", row);
    return [ms === null ? null : number(ms) + " ms", value("a_name", row) ?? value("b_name", row), value("differs", row)];
  }
  function reason(at) {
    const [text, ms] = steps[at], { length } = pairList.shown;
    return [ms === null ? null : pairList.number(ms) + " ms", text, length ? pairList.counted(length, "pair") : "belongs to no layer"];
  }
  function tell() {
    const { shown, row } = pairList, at = isReasons() ? step ?? -1 : shown.indexOf(row);
    const count = isReasons() ? steps.length : shown.length, noun = isReasons() ? "reason" : "change";
    part("at").textContent = at < 0 ? pairList.counted(count, noun) : (at + 1).toLocaleString("en-US") + " of " + count.toLocaleString("en-US");
    const words = isReasons() ? (step === null ? [] : reason(step)) : row === null ? [] : change(row);
    part("now").textContent = words.filter(Boolean).join(" · ");
    for (const name of ["previous", "next"]) part(name).disabled = !count;
    mark();
  }
  // Emphasize the bar of the current reason. A change of theme draws the chart again.
  function mark() {
    chart?.vega?.signal("chosen", isReasons() && step !== null ? steps[step][0] : null).runAsync();
  }
  chart?.addEventListener("drawn", mark);

  function toStep(at) {
    through.value = "reasons";
    step = at;
    pairList.only("reason " + steps[at][0]);
    tell();
  }
  function move(way) {
    const { shown, row } = pairList, count = isReasons() ? steps.length : shown.length;
    if (!count) return;
    const from = isReasons() ? step ?? -1 : shown.indexOf(row), to = from < 0 ? (way > 0 ? 0 : count - 1) : (from + way + count) % count;
    if (isReasons()) toStep(to); else pairList.go(to);
    const { top, bottom } = box.getBoundingClientRect();
    if (!isReasons() && (bottom < 200 || top > innerHeight - 200)) box.scrollIntoView();
  }

  through.addEventListener("change", () => { step = null; if (isReasons()) move(1); else pairList.only(null); tell(); part("next").focus(); });
  part("previous").addEventListener("click", () => move(-1));
  part("next").addEventListener("click", () => move(1));
  addEventListener("keydown", (event) => {
    const way = { n: 1, p: -1 }[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    event.preventDefault();
    move(way);
  });
  document.addEventListener("pair", ({ detail: { row } }) => {
    if (row !== null) history.replaceState(null, "", "#layers?pair=" + row);
    tell();
  });
  document.addEventListener("pick", ({ detail }) => { if (detail.row === null) part("now").textContent = detail.words; });

  // A click on a bar selects the layers of its reason.
  document.addEventListener("bar", ({ detail: { place, datum } }) => {
    const at = place === chart ? steps.findIndex(([text]) => text === datum.what) : -1;
    if (at < 0) return;
    toStep(at);
    document.dispatchEvent(new CustomEvent("layer", { detail: { prefix: "", name: part("now").textContent } }));
  });
  tell();

  // On wide screens the header shows the verdict while its heading is out of sight.
  const verdict = document.querySelector("h1"), what = document.querySelector(".brand-what"), about = what.textContent;
  new IntersectionObserver(([{ isIntersecting }]) => { what.textContent = isIntersecting || innerWidth < 900 ? about : verdict.textContent; }).observe(verdict);
});
