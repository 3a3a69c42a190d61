  // Start each graph of the page when it is about to be visible, or when the address names it.
  async function start(box) {
    if (box.dataset.state) return;
    box.dataset.state = "reading";
    try {
      const plans = (await Promise.all(box.dataset.from.split(" ").map(pageContainer))).map((one) => new Plan(one));
      box.querySelector(".graph-live").hidden = false;
      box.querySelector(".graph-waiting").remove();
      box.view = plans.length > 1 ? new Pair(box, plans) : new View(box, plans[0]);
    } catch (error) {
      box.dataset.state = "failed";
      const words = box.querySelector(".graph-waiting") ?? box;
      words.hidden = false;
      words.textContent = "The graph cannot be shown: " + error.message + ".";
      console.error(error);
    }
  }

  const graphs = [...document.querySelectorAll(".graph[data-from]")];
  const seen = new IntersectionObserver((entries) => {
    for (const one of entries) if (one.isIntersecting) { seen.unobserve(one.target); start(one.target); }
  }, { rootMargin: "400px 0px" });
  for (const one of graphs) {
    one.classList.add("scripted");
    one.querySelector(".graph-waiting").hidden = false;
    seen.observe(one);
    if (location.hash.startsWith("#" + one.dataset.prefix + "graph?")) start(one);
  }
