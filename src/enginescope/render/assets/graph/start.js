  // Start each graph of the page when it is about to be visible, or when the address names it.
  async function start(box) {
    if (box.dataset.state) return;
    box.dataset.state = "reading";
    try {
      if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot inflate it; one of 2023 or later can");
      const read = (id) => pageContainer(document.getElementById(id).content.textContent);
      const plans = (await Promise.all(box.dataset.from.split(" ").map(read))).map((one) => new Plan(one));
      box.querySelector(".graph-live").hidden = false;
      for (const one of box.querySelectorAll(".graph-waiting, .graph-still")) one.remove();
      box.view = plans.length > 1 ? new Pair(box, plans) : new View(box, plans[0]);
    } catch (error) {
      box.dataset.state = "failed";
      const words = box.querySelector(".graph-waiting") ?? box;
      words.hidden = false;
      words.textContent = "The graph cannot be shown: " + error.message + ".";
      console.error(error);
    }
  }

  // Printing does not wait for data: a graph that was never visible prints in its first state, or as text.
  function putOnPaper(box) {
    if (box.dataset.state || box.querySelector(".graph-still")) return;
    const inert = new DOMParser().parseFromString(box.querySelector("noscript").textContent, "text/html");
    const paper = document.createElement("div"), picture = inert.querySelector("svg");
    paper.className = "graph-still";
    if (picture) {
      Object.assign(picture.style, { maxWidth: "100%", height: "auto" });
      paper.attachShadow({ mode: "open" }).append(document.adoptNode(picture));  // isolates its styles
    } else paper.textContent = "Too large for paper as a whole: enginescope explore PLAN --svg FILE --fold module draws it.";
    box.querySelector(".graph-waiting").classList.add("on-paper");
    box.append(paper);
  }

  const graphs = [...document.querySelectorAll(".graph[data-from]")];
  addEventListener("beforeprint", () => graphs.forEach(putOnPaper));
  const seen = new IntersectionObserver((entries) => {
    for (const one of entries) if (one.isIntersecting) { seen.unobserve(one.target); start(one.target); }
  }, { rootMargin: "400px 0px" });
  for (const one of graphs) {
    one.querySelector(".graph-waiting").hidden = false;
    seen.observe(one);
    if (location.hash.startsWith("#" + one.dataset.prefix + "graph?")) start(one);
  }
