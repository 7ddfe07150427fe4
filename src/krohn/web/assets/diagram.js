"use strict";
/* The state diagram: colours of the states, the current one, and the arrow just travelled. */
krohn.Diagram = class {
  constructor(machine, colours, choose) {
    this.machine = machine;
    this.host = krohn.find("diagram");
    this.host.className = machine.diagram ? "drawn" : "tiles";
    this.note = krohn.find("diagram-note");
    if (machine.diagram) this.draw(machine.diagram, colours, choose);
    else this.tiles(colours, choose);
  }

  draw(text, colours, choose) {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    const svg = document.importNode(parsed, true);
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    svg.setAttribute("aria-label", `State diagram of ${this.machine.name}`);
    this.places = [];
    for (const circle of svg.querySelectorAll("circle.state")) {
      const state = Number(circle.dataset.state);
      circle.setAttribute("style", colours[state]);
      circle.addEventListener("click", () => choose(state));
      const at = (name) => Number(circle.getAttribute(name));
      this.places[state] = { x: at("cx"), y: at("cy"), r: at("r"), circle };
    }
    this.edges = [...svg.querySelectorAll("path.edge")].map((path) => this.edge(path));
    this.way = krohn.make("svg:g", { class: "way", "aria-hidden": "true" });
    svg.append(this.way);
    const room = svg.viewBox.baseVal;
    // A line of states goes across the page; others stand beside the answer.
    this.host.closest(".pair").classList.toggle("stacked", room.width > 2.6 * room.height);
    svg.style.maxWidth = `${Math.min(room.width > 2.6 * room.height ? 1200 : 760, Math.max(300, room.width * 1.6))}px`;
    krohn.fill(this.host, svg);
  }

  tiles(colours, choose) {
    this.host.closest(".pair").classList.remove("stacked");
    this.places = this.machine.automaton.states.map((name, state) => {
      const circle = krohn.make("span", { class: "tile", style: colours[state], title: `state ${name}` }, name);
      circle.addEventListener("click", () => choose(state));
      return { circle };
    });
    krohn.fill(this.host, ...this.places.map((place) => place.circle));
  }

  show(from, to, letter) {
    for (const [state, place] of this.places.entries()) place.circle.classList.toggle("current", state === to);
    const names = this.machine.automaton.states;
    this.note.textContent =
      letter === null ? `Start state ${names[to]}.` : `${names[from]} — ${letter} → ${names[to]}`;
    if (this.way) krohn.fill(this.way, ...(letter === null ? [] : this.travelled(from, to, letter)));
  }

  /* A drawn arrow; one without a head stands for both directions. */
  edge(path) {
    const next = path.nextElementSibling;
    const head = next && next.matches("polygon.edge") ? next : null;
    return { path, head, from: Number(path.dataset.from), to: Number(path.dataset.to), letters: path.textContent.split(", ") };
  }

  /* The arrow that the diagram has for this move, if it has one, else a curve of its own. */
  travelled(from, to, letter) {
    const joins = (edge, a, b) => edge.from === a && edge.to === b && edge.letters.includes(letter);
    const found = this.edges.find((edge) => joins(edge, from, to) || (!edge.head && joins(edge, to, from)));
    if (!found) return this.arrow(this.places[from], this.places[to], letter);
    const copies = [found.path, found.head].filter(Boolean).map((part, index) => {
      const copy = part.cloneNode(false);
      for (const name of ["stroke", "fill", "stroke-width"]) copy.removeAttribute(name);
      copy.setAttribute("class", index ? "head" : "travelled");
      return copy;
    });
    const middle = found.path.getPointAtLength(found.path.getTotalLength() / 2);
    return [...copies, this.label(middle.x, middle.y, letter)];
  }

  arrow(a, b, letter) {
    if (a === b) return [this.ring(a), this.label(a.x, a.y - a.r - 17, letter)];
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
    const bend = Math.min(26, 0.16 * length);
    const start = [a.x + a.r * ux, a.y + a.r * uy];
    const end = [b.x - (b.r + 3) * ux, b.y - (b.r + 3) * uy];
    const control = [(a.x + b.x) / 2 + 2 * bend * uy, (a.y + b.y) / 2 - 2 * bend * ux];
    const angle = Math.atan2(end[1] - control[1], end[0] - control[0]);
    const side = (turn) => `${end[0] - 13 * Math.cos(angle + turn)},${end[1] - 13 * Math.sin(angle + turn)}`;
    return [
      krohn.make("svg:path", { d: `M${start} Q${control} ${end}`, class: "travelled" }),
      krohn.make("svg:polygon", { points: `${end} ${side(0.42)} ${side(-0.42)}`, class: "head" }),
      this.label((a.x + b.x) / 2 + bend * uy, (a.y + b.y) / 2 - bend * ux, letter),
    ];
  }

  ring(place) {
    return krohn.make("svg:circle", { cx: place.x, cy: place.y, r: place.r + 7, class: "stayed" });
  }

  label(x, y, letter) {
    const width = 8 * letter.length + 12;
    return krohn.make(
      "svg:g",
      {},
      krohn.make("svg:rect", { x: x - width / 2, y: y - 10, width, height: 20, rx: 10, class: "tag" }),
      krohn.make("svg:text", { x, y, dy: "0.35em", "text-anchor": "middle", "font-size": 13, class: "tagged" }, letter),
    );
  }
};
