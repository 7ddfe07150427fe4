"use strict";
/* Trained networks: the depth map, a cell's curves, one run, its attention beside the compiled network's. */
krohn.Results = class {
  constructor(data) {
    this.data = data;
    this.host = krohn.find("results");
    this.detail = krohn.make("div", { id: "run", "aria-live": "polite" });
    this.below = krohn.make("div", {});
    krohn.fill(
      this.host,
      krohn.make("section", { class: "hero" }, krohn.make("div", {}, krohn.make("h1", {}, "What training finds"), krohn.make("p", { class: "lead" }, "Token accuracy of trained Transformers by task and number of layers. Choose a cell to see its curves and its runs."))),
      krohn.make("div", { class: "pair narrow" }, krohn.make("section", { class: "panel", "aria-labelledby": "map-title" }, krohn.make("h2", { id: "map-title" }, "Depth map"), krohn.make("p", { class: "note" }, "Best replicate of each cell; a dot marks 99%."), krohn.make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Depth map" }, this.map())), this.detail),
      this.below,
    );
    const first = data.attention.length ? data.attention[0].run : data.depth.length ? data.depth[0].run : null;
    if (first) this.showRun(first);
  }

  map() {
    const { depth, runs } = this.data;
    const tasks = [...new Set(depth.map((cell) => cell.task))];
    const layers = [...new Set(depth.map((cell) => cell.depth))].sort((a, b) => a - b);
    const head = krohn.make("tr", {}, krohn.make("th", { scope: "col" }, "layers"), ...layers.map((count) => krohn.make("th", { scope: "col" }, String(count))));
    const rows = tasks.map((task) =>
      krohn.make("tr", {}, krohn.make("th", { scope: "row" }, task), ...layers.map((count) => krohn.make("td", {}, this.cell(task, count, depth, runs)))),
    );
    return krohn.make("table", { class: "depths" }, krohn.make("thead", {}, head), krohn.make("tbody", {}, ...rows));
  }

  cell(task, count, depth, runs) {
    const here = depth.filter((cell) => cell.task === task && cell.depth === count);
    if (!here.length) return null;
    const best = here.reduce((a, b) => (runs[b.run].best > runs[a.run].best ? b : a));
    const value = runs[best.run].best;
    const label = `${task}, ${count} layers: best ${(100 * value).toFixed(1)}%, median ${(100 * runs[best.run].median).toFixed(1)}%`;
    return krohn.make(
      "button",
      { type: "button", class: value >= 0.99 ? "solved" : null, style: `--v:${Math.pow(value, 3).toFixed(3)}`, "aria-label": label, title: label, on: { click: () => this.showRun(best.run, true) } },
      (100 * value).toFixed(value >= 0.995 ? 1 : 0),
    );
  }

  showRun(id, follow) {
    const run = this.data.runs[id];
    this.shown = id;
    krohn.noteLink();
    const facts = `${run.kind.toUpperCase()}, ${run.layers} layers, ${run.dim} dimensions, ${run.heads} heads, words of ${run.length}`;
    const rows = run.replicates.map((one) =>
      krohn.make("tr", {}, krohn.make("th", { scope: "row" }, String(one.number)), krohn.make("td", {}, `${(100 * one.accuracy).toFixed(2)}%`), krohn.make("td", {}, one.sequences.toLocaleString("en")), krohn.make("td", {}, one.seconds === null || one.seconds === undefined ? "" : `${one.seconds} s`)),
    );
    const head = krohn.make("tr", {}, ...["replicate", "accuracy", "sequences", "time"].map((name) => krohn.make("th", { scope: "col" }, name)));
    const view = this.data.attention.find((item) => item.run === id);
    krohn.fill(
      this.detail,
      krohn.make("section", { class: "panel", "aria-label": "Curves" }, krohn.make("h2", { id: "run-title", tabindex: -1 }, `${run.task}, ${run.layers} layers`), krohn.make("p", { class: "note" }, facts), this.curves(run)),
        krohn.make("section", { class: "panel", "aria-label": "Run" }, krohn.make("h2", {}, `Run ${id.slice(0, 8)}`), krohn.make("p", { class: "note" }, `best ${(100 * run.best).toFixed(2)}%, median ${(100 * run.median).toFixed(2)}% of ${run.replicates.length} replicates`), krohn.make("div", { class: "scroll tall" }, krohn.make("table", { class: "runs" }, krohn.make("thead", {}, head), krohn.make("tbody", {}, ...rows)))),
    );
    krohn.fill(this.below, view ? this.attention(view) : null);
    if (follow) krohn.find("run-title").scrollIntoView({ block: "nearest" });
  }

  curves(run) {
    const [width, height] = [520, 260];
    const last = Math.max(...run.replicates.flatMap((one) => one.steps), 1);
    const place = (step, value) => `${(40 + ((width - 50) * step) / last).toFixed(1)},${(10 + (height - 40) * (1 - value)).toFixed(1)}`;
    const svg = krohn.make("svg:svg", { viewBox: `0 0 ${width} ${height}`, class: "curves", role: "img", "aria-label": `Accuracy by step of ${run.replicates.length} replicates` });
    for (const value of [0, 0.25, 0.5, 0.75, 1]) {
      const y = 10 + (height - 40) * (1 - value);
      svg.append(krohn.make("svg:line", { x1: 40, x2: width - 10, y1: y, y2: y, class: "grid" }), krohn.make("svg:text", { x: 34, y, dy: "0.35em", "text-anchor": "end" }, `${100 * value}%`));
    }
    svg.append(krohn.make("svg:text", { x: width - 10, y: height - 8, "text-anchor": "end" }, `${last.toLocaleString("en")} steps`), krohn.make("svg:text", { x: 40, y: height - 8 }, "0"));
    for (const [index, one] of run.replicates.entries()) {
      const points = one.steps.map((step, i) => place(step, one.curve[i])).join(" ");
      const line = krohn.make("svg:polyline", { points, style: `--h:${(index * 137) % 360}` });
      line.append(krohn.make("svg:title", {}, `replicate ${one.number}: ${(100 * one.accuracy).toFixed(2)}%`));
      svg.append(line);
    }
    return svg;
  }

  attention(view) {
    const column = (title, note, maps) => krohn.make("div", {}, krohn.make("h3", {}, title), krohn.make("p", { class: "note" }, note), krohn.make("div", { class: "maps" }, ...maps.map((item) => this.square(item))));
    return krohn.make(
      "section",
      { class: "panel", "aria-labelledby": "attention-title" },
      krohn.make("h2", { id: "attention-title" }, `Attention on one word of ${view.task}`),
      krohn.make("p", { class: "note" }, `Row: the position that attends; column: the position attended to; first ${view.letters.length} letters: ${view.letters.join(" ")}`),
      krohn.make(
        "div",
        { class: "pair" },
        column("Trained", `replicate ${view.replicate}, ${(100 * view.accuracy).toFixed(2)}% right`, view.trained),
        column("Compiled", "the same word; every head has a meaning, and the network a proof", view.compiled),
      ),
    );
  }

  square(item) {
    const bytes = Uint8Array.from(atob(item.data), (sign) => sign.charCodeAt(0));
    const canvas = krohn.make("canvas", { width: item.size, height: item.size, role: "img", "aria-label": `${item.name}: ${item.text}` });
    const context = canvas.getContext("2d");
    const image = context.createImageData(item.size, item.size);
    for (let i = 0; i < bytes.length; i++) image.data.set([70, 120, 215, 255 * Math.sqrt(bytes[i] / 255)], 4 * i);
    context.putImageData(image, 0, 0);
    return krohn.make("figure", {}, canvas, krohn.make("figcaption", {}, krohn.make("b", {}, item.name), item.text === "trained" ? null : ` ${item.text}`));
  }
};

/* Two views, one shown at a time. */
krohn.showViews = function (data) {
  const views = krohn.find("views");
  const names = { explorer: "Compiled", results: "Trained" };
  const open = (name, run) => {
    for (const id of Object.keys(names)) krohn.find(id).hidden = id !== name;
    for (const button of views.children) button.setAttribute("aria-current", button.dataset.view === name ? "true" : "false");
    if (name === "results" && !krohn.results) krohn.results = new krohn.Results(data.results);
    if (name === "results" && krohn.current) krohn.current.stop();
    if (name === "results" && run && !data.results.runs[run]) krohn.unknown(`run ${run}`);
    else if (name === "results" && run) krohn.results.showRun(run, true);
    krohn.noteLink();
    return true;
  };
  krohn.openView = open;
  krohn.fill(views, ...Object.entries(names).map(([id, text]) => krohn.make("button", { type: "button", class: "pick", "data-view": id, on: { click: () => open(id) } }, text)));
  views.hidden = false;
  open(/^#trained(=|$)/.test(location.hash) || !data.machines.length ? "results" : "explorer");
};
