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
    // A line of states, or a large diagram, goes across the page; others stand beside the answer.
    const line = (this.line = room.width > 2.6 * room.height);
    this.host.closest(".pair").classList.toggle("stacked", line || room.width > 700);
    svg.style.maxWidth = `${Math.max(240, Math.min(1120, room.width * (line ? 1.6 : 1.35)))}px`;
    svg.style.maxHeight = `${Math.min(room.width > 700 ? 860 : 560, room.height * (line ? 1.6 : 1.35))}px`;
    svg.style.minWidth = line ? `${Math.min(640, room.width * 0.8)}px` : "0"; // scrolled on a phone, not shrunk
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
    this.follow(this.places[to].circle);
    const names = this.machine.automaton.states;
    this.note.textContent =
      letter === null ? `Start state ${names[to]}.` : `${names[from]} — ${letter} → ${names[to]}`;
    if (this.way) krohn.fill(this.way, ...(letter === null ? [] : this.travelled(from, to, letter)));
  }

  /* Where a line of states is wider than its place, the current state stays in sight. */
  follow(circle) {
    if (!this.line || this.host.scrollWidth <= this.host.clientWidth + 1) return;
    const [box, at] = [this.host.getBoundingClientRect(), circle.getBoundingClientRect()];
    if (at.left < box.left + 30 || at.right > box.right - 30) this.host.scrollLeft += at.left - box.left - box.width / 2;
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
    const place = this.written(found) || found.path.getPointAtLength(found.path.getTotalLength() / 2);
    return [...copies, this.label(place.x, place.y, letter)];
  }

  /* Where the diagram writes the letters of an arrow; they come next after it. */
  written({ path }) {
    for (let node = path.nextElementSibling; node && !node.matches("path"); node = node.nextElementSibling) {
      if (node.matches("text.letter")) return { x: Number(node.getAttribute("x")), y: Number(node.getAttribute("y")) };
    }
    return null;
  }

  arrow(a, b, letter) {
    if (a === b) return [this.ring(a), this.label(a.x, a.y - a.r - 17, letter)];
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
    const least = Math.min(26, 0.16 * length);
    const others = this.places.filter((place) => place !== a && place !== b);
    const near = (bow) => Math.min(...others.map((place) => this.distance(a, b, bow, place) - place.r), Infinity);
    // The least bow that keeps off all other states, or else the one that comes least near.
    const bows = [least, -least, 2 * least, -2 * least, 3.4 * least, -3.4 * least];
    const bend = bows.find((bow) => near(bow) > 6) ?? bows.reduce((best, bow) => (near(bow) > near(best) ? bow : best));
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

  /* How near a bow from one state to another comes to a third. */
  distance(a, b, bow, place) {
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
    const steps = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
    return Math.min(...steps.map((t) => Math.hypot(a.x + t * (b.x - a.x) + 4 * bow * t * (1 - t) * uy - place.x, a.y + t * (b.y - a.y) - 4 * bow * t * (1 - t) * ux - place.y)));
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
