"use strict";
/* Draw or type your own: states and arrows, a table beside them, a word to run, files to keep. */
krohn.R = 22;
krohn.MAX_DRAWN = 12;
krohn.MAX_LETTERS = 6;

krohn.Draw = class {
  constructor(add) {
    this.add = add;
    this.chosen = null;
    const button = (text, act, title) => krohn.make("button", { type: "button", title, on: { click: act } }, text);
    this.svg = krohn.make("svg:svg", { class: "board", viewBox: "0 0 640 300", role: "img", "aria-label": "The drawing; the table below has the same states and arrows", on: { click: (event) => this.onBoard(event), pointerdown: (event) => this.grab(event), pointermove: (event) => this.drag(event), pointerup: () => this.drop(), pointercancel: () => this.drop() } });
    this.grid = krohn.make("div", { class: "scroll" });
    this.pen = krohn.make("span", { class: "pens", role: "radiogroup", "aria-label": "Letter of the next arrow" });
    this.pattern = krohn.make("input", { type: "text", id: "pattern", placeholder: "(a|b)*abb", spellcheck: "false", autocapitalize: "off" });
    this.word = krohn.make("input", { type: "text", id: "try", placeholder: "abba", spellcheck: "false", autocapitalize: "off", on: { input: () => this.run() } });
    this.says = krohn.make("p", { id: "try-says", class: "note", role: "status" });
    this.status = krohn.make("p", { id: "draw-status", class: "note", role: "status" });
    const typed = krohn.make("form", { class: "ask", on: { submit: (event) => this.onPattern(event) } }, krohn.make("label", { for: "pattern" }, "Type a pattern"), this.pattern, krohn.make("button", { type: "submit" }, "Draw it"));
    const tools = krohn.make("p", { class: "buttons" }, this.pen, button("Add a state", () => this.addState()), button("Remove the last state", () => this.removeState()), button("Add a letter", () => this.addLetter()), button("Remove the last letter", () => this.removeLetter()), button("Start anew", () => this.reset()));
    const keep = krohn.make(
      "p",
      { class: "buttons" },
      krohn.make("button", { type: "button", class: "main", id: "show-network", on: { click: () => this.network() } }, "Show its network"),
      button("JSON", () => this.keep("drawing.json", this.json())),
      button("JFLAP .jff", () => this.keep("drawing.jff", this.jff())),
      button("SVG", () => this.keep("drawing.svg", this.picture())),
    );
    const hint = "Click the board for a new state. Click a state, then another one (or the same again), for an arrow with the letter chosen here. Drag a state to move it. Or use the table below, which says where each letter leads. Letters of a pattern are single characters here; krohn compile makes one letter of those that it does not tell apart.";
    this.offer = krohn.make("p", { id: "draw-offer", class: "note" });
    krohn.fill("draw-body", typed, krohn.make("p", { class: "note" }, hint), tools, this.svg, this.grid, krohn.make("div", { class: "ask" }, krohn.make("label", { for: "try" }, "Run a word"), this.word), this.says, keep, this.offer, this.status);
    krohn.find("draw-begin").addEventListener("click", () => this.open());
    this.reset();
  }

  open() {
    const panel = krohn.find("draw");
    panel.open = true;
    krohn.reveal(panel);
    this.pattern.focus({ preventScroll: true });
  }

  reset() {
    this.set({ letters: ["a", "b"], table: [[1, 0], [0, 1]], accept: [1], name: "drawing" });
  }

  /* A new model; states on a circle. */
  set({ letters, table, accept, name }) {
    Object.assign(this, { letters, table, start: 0, accept: new Set(accept), name, chosen: null });
    const count = table.length;
    this.places = table.map((_, state) => {
      const angle = (2 * Math.PI * state) / count + Math.PI;
      return { x: 320 + Math.min(230, 60 + 30 * count) * Math.cos(angle), y: 150 + 95 * Math.sin(angle) };
    });
    this.letter = 0;
    this.draw();
  }

  onPattern(event) {
    if (event) event.preventDefault();
    try {
      const found = new krohn.Pattern(this.pattern.value).automaton();
      if (found.table.length > krohn.MAX_DRAWN) throw new Error(`This pattern has ${found.table.length} states; the board has room for ${krohn.MAX_DRAWN}.`);
      this.set({ ...found, name: `regex:${this.pattern.value}` });
      this.tell("");
    } catch (error) {
      this.tell(error.message, true);
    }
  }

  at(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
  }

  hit(at) {
    return this.places.findIndex((place) => Math.hypot(place.x - at.x, place.y - at.y) <= krohn.R + 4);
  }

  grab(event) {
    const at = this.at(event);
    const state = this.hit(at);
    this.held = state < 0 || event.button ? null : { state, from: at, moved: false };
    if (this.held) this.svg.setPointerCapture(event.pointerId);
  }

  /* A state follows the pointer; a hand that trembles is not a drag. */
  drag(event) {
    if (!this.held) return;
    const at = this.at(event);
    this.held.moved ||= Math.hypot(at.x - this.held.from.x, at.y - this.held.from.y) > 5;
    if (!this.held.moved) return;
    this.places[this.held.state] = { x: Math.min(610, Math.max(30, at.x)), y: Math.min(270, Math.max(30, at.y)) };
    this.drawBoard(this.svg.getAttribute("viewBox")); // what is under the pointer stays where it is
  }

  drop() {
    this.dropped = Boolean(this.held && this.held.moved);
    this.held = null;
    if (this.dropped) this.drawBoard();
  }

  onBoard(event) {
    if (this.dropped) return void (this.dropped = false); // the click that ends a drag
    const at = this.at(event);
    const hit = this.hit(at);
    if (hit < 0) return this.addState({ x: Math.min(610, Math.max(30, at.x)), y: Math.min(270, Math.max(30, at.y)) });
    if (this.chosen === null) this.chosen = hit;
    else {
      this.change(() => (this.table[this.chosen][this.letter] = hit));
      this.chosen = null;
    }
    this.draw();
  }

  /* Whatever is changed by hand is no longer the pattern that was typed. */
  change(act) {
    act();
    this.name = "drawing";
  }

  addState(place) {
    if (this.table.length >= krohn.MAX_DRAWN) return this.tell(`The board has room for ${krohn.MAX_DRAWN} states.`, true);
    const count = this.table.length;
    this.change(() => this.table.push(this.letters.map(() => count)));
    this.places.push(place || { x: 60 + ((count * 137) % 520), y: 60 + ((count * 89) % 190) });
    this.draw();
  }

  addLetter() {
    if (this.letters.length >= krohn.MAX_LETTERS) return this.tell(`The board has room for ${krohn.MAX_LETTERS} letters.`, true);
    const fresh = [..."abcdefghijklmnopqrstuvwxyz"].find((letter) => !this.letters.includes(letter));
    this.change(() => (this.letters = [...this.letters, fresh]));
    this.table = this.table.map((row, state) => [...row, state]);
    this.letter = this.letters.length - 1;
    this.draw();
  }

  removeLetter() {
    if (this.letters.length === 1) return;
    this.change(() => (this.letters = this.letters.slice(0, -1)));
    this.table = this.table.map((row) => row.slice(0, -1));
    this.letter = Math.min(this.letter, this.letters.length - 1);
    this.draw();
  }

  removeState() {
    const last = this.table.length - 1;
    if (!last) return;
    this.change(() => this.table.pop());
    this.places.pop();
    this.accept.delete(last);
    this.start = this.start === last ? 0 : this.start;
    this.table = this.table.map((row, state) => row.map((target) => (target === last ? state : target)));
    this.chosen = null;
    this.draw();
  }

  draw() {
    krohn.fill(
      this.pen,
      "letter ",
      ...this.letters.map((letter, index) => krohn.make("button", { type: "button", role: "radio", "aria-checked": String(index === this.letter), class: index === this.letter ? "pick on" : "pick", on: { click: () => ((this.letter = index), this.draw()) } }, letter)),
    );
    this.drawBoard();
    this.drawTable();
    this.run();
    this.tellOffer();
  }

  drawBoard(view) {
    const parsed = new DOMParser().parseFromString(this.picture(), "image/svg+xml").documentElement;
    krohn.fill(this.svg, ...[...parsed.childNodes].map((node) => document.importNode(node, true)));
    this.svg.setAttribute("viewBox", view || parsed.getAttribute("viewBox"));
    if (this.chosen !== null) this.svg.querySelector(`circle.state[data-state="${this.chosen}"]`).classList.add("current");
  }

  /* Where the network of this drawing comes from: this page, or a command. */
  tellOffer() {
    const states = krohn.inOrder(this.table, this.start).order.length;
    const size = `${states} ${states === 1 ? "state" : "states"} that words reach, ${this.letters.length} ${this.letters.length === 1 ? "letter" : "letters"}`;
    const small = states <= 3 && this.letters.length <= 2;
    this.offer.textContent = small
      ? `${size}: this page holds its network and the proof.`
      : `${size}: this page builds its network, for words of up to ${krohn.BUILT_LENGTH} letters, and runs it; it is not proved. For a proof, and fewer layers, keep the JSON and run “krohn explore drawing.json”.`;
  }

  drawTable() {
    const names = this.names();
    const choice = (state, letter) =>
      krohn.make(
        "select",
        { "aria-label": `state ${names[state]}, letter ${this.letters[letter]}, leads to`, on: { change: (event) => (this.change(() => (this.table[state][letter] = Number(event.target.value))), this.draw()) } },
        ...names.map((name, target) => krohn.make("option", { value: target, selected: this.table[state][letter] === target }, name)),
      );
    const mark = (type, state, on, act) => krohn.make("input", { type, name: type, checked: on, "aria-label": `state ${names[state]} ${type === "radio" ? "is the start" : "accepts"}`, on: { change: () => (this.change(act), this.draw()) } });
    const rows = names.map((name, state) =>
      krohn.make(
        "tr",
        {},
        krohn.make("th", { scope: "row" }, name),
        ...this.letters.map((_, letter) => krohn.make("td", {}, choice(state, letter))),
        krohn.make("td", {}, mark("radio", state, this.start === state, () => (this.start = state))),
        krohn.make("td", {}, mark("checkbox", state, this.accept.has(state), () => (this.accept.has(state) ? this.accept.delete(state) : this.accept.add(state)))),
      ),
    );
    const head = ["state", ...this.letters, "start", "accepts"].map((text) => krohn.make("th", { scope: "col" }, text));
    krohn.fill(this.grid, krohn.make("table", { class: "editor" }, krohn.make("thead", {}, krohn.make("tr", {}, ...head)), krohn.make("tbody", {}, ...rows)));
  }

  names() {
    return this.table.map((_, state) => `q${state}`);
  }

  run() {
    const word = [...this.word.value].filter((sign) => sign !== " ");
    const wrong = word.find((sign) => !this.letters.includes(sign));
    if (wrong) return void (this.says.textContent = `“${wrong}” is not a letter here. The letters are ${this.letters.join(" ")}.`);
    let state = this.start;
    const way = [`q${state}`];
    for (const sign of word) {
      state = this.table[state][this.letters.indexOf(sign)];
      way.push(`q${state}`);
    }
    const verdict = this.accept.has(state) ? (this.name === "drawing" ? "accepted" : "match") : this.name === "drawing" ? "not accepted" : "no match";
    this.says.textContent = `${way.join(" → ")}: ${verdict}.`;
  }

  tell(text, bad) {
    this.status.textContent = text;
    this.status.classList.toggle("bad", Boolean(bad));
  }

  json() {
    const names = this.names();
    const next = Object.fromEntries(names.map((name, state) => [name, Object.fromEntries(this.letters.map((letter, index) => [letter, names[this.table[state][index]]]))]));
    const observe = Object.fromEntries(names.map((name, state) => [name, this.accept.has(state) ? 1 : 0]));
    return `${JSON.stringify({ krohn: 1, letters: this.letters, states: names, start: names[this.start], next, observe }, null, 1)}\n`;
  }

  jff() {
    const safe = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
    const states = this.places.map(({ x, y }, state) => `<state id="${state}" name="q${state}"><x>${x.toFixed(1)}</x><y>${y.toFixed(1)}</y>${state === this.start ? "<initial/>" : ""}${this.accept.has(state) ? "<final/>" : ""}</state>`);
    const moves = this.table.flatMap((row, state) => row.map((target, letter) => `<transition><from>${state}</from><to>${target}</to><read>${safe(this.letters[letter])}</read></transition>`));
    return ['<?xml version="1.0" encoding="UTF-8"?>', "<!-- by krohn -->", "<structure>", "<type>fa</type>", "<automaton>", ...states, ...moves, "</automaton>", "</structure>", ""].join("\n");
  }

  picture() {
    return krohn.pictureOf({ ...this, names: null });
  }

  keep(name, text) {
    const link = krohn.make("a", { href: URL.createObjectURL(new Blob([text])), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    this.tell(`${name} is in your downloads.`);
  }

  /* The network: out of the table in this page, or built here. */
  async network() {
    const found = await krohn.lookUp(this);
    this.add(this.linked(found || krohn.build(this)));
    krohn.reveal(krohn.find("name"));
    this.tell("");
  }

  /* The machine with what a link needs to draw it again: its pattern is its name, a drawing is written out. */
  linked(machine) {
    if (this.name === "drawing") machine.drawing = this.written();
    return machine;
  }

  written() {
    const spots = this.places.map(({ x, y }) => `${Math.round(x)},${Math.round(y)}`);
    const rows = this.table.map((row) => row.map((target) => target.toString(36)).join(""));
    return [encodeURIComponent(this.letters.join("")), this.start, [...this.accept].join("."), rows.join("."), spots.join(".")].join(";");
  }

  /* The machine of a drawing in a link, also put on the board; null if it is none. */
  async fromLink(text, name) {
    const [letters, start, accept, rows, spots = ""] = text.split(";");
    const table = (rows || "").split(".").map((row) => [...row].map((sign) => Number.parseInt(sign, 36)));
    const signs = [...decodeURIComponent(letters || "")];
    const fits = table.length <= krohn.MAX_DRAWN && signs.length && signs.length <= krohn.MAX_LETTERS && new Set(signs).size === signs.length;
    const inside = (state) => Number.isInteger(state) && state >= 0 && state < table.length;
    if (!fits || !table.every((row) => row.length === signs.length && row.every(inside)) || !inside(Number(start))) return null;
    const chosen = (accept || "").split(".").filter(Boolean).map(Number).filter(inside);
    this.set({ letters: signs, table, accept: chosen, name });
    this.start = Number(start);
    const places = spots.split(".").map((pair) => pair.split(",").map(Number));
    if (places.length === table.length && places.flat().every(Number.isFinite)) this.places = places.map(([x, y]) => ({ x, y }));
    this.draw();
    return this.linked((await krohn.lookUp(this)) || krohn.build(this));
  }

  async fromPattern(text) {
    this.pattern.value = text;
    this.onPattern();
    return this.name === `regex:${text}` ? this.linked((await krohn.lookUp(this)) || krohn.build(this)) : null;
  }
};

/* The drawing as a picture, with the classes that the explorer's diagrams have. */
krohn.pictureOf = function ({ places, table, letters, start, accept, names }) {
  const safe = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const middle = { x: places.reduce((sum, p) => sum + p.x, 0) / places.length, y: places.reduce((sum, p) => sum + p.y, 0) / places.length };
  const pairs = new Map();
  table.forEach((row, from) => row.forEach((to, letter) => pairs.set(`${from} ${to}`, [...(pairs.get(`${from} ${to}`) || []), letters[letter]])));
  const ring = (state) => krohn.R + (accept.has(state) ? 4 : 0);
  const parts = [];
  const label = (x, y, text) => parts.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" dy="0.35em" font-size="13" text-anchor="middle" class="letter">${safe(text)}</text>`);
  const edge = (from, to, path, end, angle, text) => {
    const side = (turn) => `${(end.x - 10 * Math.cos(angle + turn)).toFixed(1)},${(end.y - 10 * Math.sin(angle + turn)).toFixed(1)}`;
    const ends = `data-from="${from}" data-to="${to}"`;
    parts.push(`<path d="${path}" fill="none" stroke="#8a8f98" class="edge" ${ends}><title>${safe(text)}</title></path>`, `<polygon points="${end.x.toFixed(1)},${end.y.toFixed(1)} ${side(0.4)} ${side(-0.4)}" fill="#8a8f98" class="edge"/>`);
  };
  for (const [pair, signs] of pairs) {
    const [from, to] = pair.split(" ").map(Number);
    const [a, b, text] = [places[from], places[to], signs.join(", ")];
    if (from === to) {
      const away = places.length > 1 ? Math.atan2(a.y - middle.y, a.x - middle.x) : -Math.PI / 2;
      const on = (turn, reach) => ({ x: a.x + reach * Math.cos(away + turn), y: a.y + reach * Math.sin(away + turn) });
      const [p, q, s, e] = [on(-0.5, ring(from)), on(-0.6, 62), on(0.6, 62), on(0.5, ring(from) + 1)];
      edge(from, to, `M${p.x.toFixed(1)},${p.y.toFixed(1)} C${q.x.toFixed(1)},${q.y.toFixed(1)} ${s.x.toFixed(1)},${s.y.toFixed(1)} ${e.x.toFixed(1)},${e.y.toFixed(1)}`, e, Math.atan2(e.y - s.y, e.x - s.x), text);
      const far = on(0, 66 + 3 * text.length);
      label(far.x, far.y, text);
      continue;
    }
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
    // The least bend that keeps the curve off the other states.
    const clear = (bend) => places.every((p, state) => state === from || state === to || [0.2, 0.35, 0.5, 0.65, 0.8].every((t) => Math.hypot(a.x + t * (b.x - a.x) + 4 * bend * t * (1 - t) * uy - p.x, a.y + t * (b.y - a.y) - 4 * bend * t * (1 - t) * ux - p.y) > krohn.R + 6));
    const bends = pairs.has(`${to} ${from}`) ? [18, 34, 50, 70] : [0, 18, -18, 34, -34, 50, -50, 70, -70];
    const bend = bends.find(clear) ?? bends[0];
    const control = { x: (a.x + b.x) / 2 + 2 * bend * uy, y: (a.y + b.y) / 2 - 2 * bend * ux };
    const out = Math.atan2(control.y - a.y, control.x - a.x);
    const into = Math.atan2(b.y - control.y, b.x - control.x);
    const p = { x: a.x + ring(from) * Math.cos(out), y: a.y + ring(from) * Math.sin(out) };
    const e = { x: b.x - (ring(to) + 1) * Math.cos(into), y: b.y - (ring(to) + 1) * Math.sin(into) };
    edge(from, to, `M${p.x.toFixed(1)},${p.y.toFixed(1)} Q${control.x.toFixed(1)},${control.y.toFixed(1)} ${e.x.toFixed(1)},${e.y.toFixed(1)}`, e, into, text);
    label((a.x + b.x) / 2 + (bend + Math.sign(bend || 1) * 11) * uy, (a.y + b.y) / 2 - (bend + Math.sign(bend || 1) * 11) * ux, text);
  }
  parts.push(...krohn.startArrow(places, start, pairs, middle, ring(start)));
  places.forEach(({ x, y }, state) => {
    const circle = (r, kind) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${r}" fill="#fff" stroke="#555" class="${kind}"${kind === "state" ? ` data-state="${state}"` : ""}/>`;
    parts.push(...(accept.has(state) ? [circle(krohn.R + 4, "accept")] : []), circle(krohn.R, "state"));
    parts.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" dy="0.35em" font-size="13" text-anchor="middle" class="name" data-state="${state}">${names ? names[state] : `q${state}`}</text>`);
  });
  const across = places.map((p) => p.x);
  const down = places.map((p) => p.y);
  const [left, top] = [Math.min(0, ...across.map((x) => x - 90)), Math.min(0, ...down.map((y) => y - 90))];
  const [right, bottom] = [Math.max(640, ...across.map((x) => x + 90)), Math.max(300, ...down.map((y) => y + 90))];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${left.toFixed(0)} ${top.toFixed(0)} ${(right - left).toFixed(0)} ${(bottom - top).toFixed(0)}" font-family="system-ui, sans-serif"><!-- by krohn -->${parts.join("")}</svg>\n`;
};

/* The arrow into the start state, on the side where the fewest others are. */
krohn.startArrow = function (places, start, pairs, middle, ring) {
  const s = places[start];
  const taken = [...pairs.keys()].flatMap((pair) => {
    const [from, to] = pair.split(" ").map(Number);
    if (from === to) return from === start ? [places.length > 1 ? Math.atan2(s.y - middle.y, s.x - middle.x) : -Math.PI / 2] : [];
    const other = from === start ? places[to] : to === start ? places[from] : null;
    return other ? [Math.atan2(other.y - s.y, other.x - s.x)] : [];
  });
  const off = (angle) => Math.min(Math.PI, ...taken.map((each) => Math.abs(Math.atan2(Math.sin(angle - each), Math.cos(angle - each)))));
  const angles = [4, 5, 3, 6, 2, 7, 1, 0].map((part) => (part * Math.PI) / 4);
  const angle = angles.reduce((best, each) => (off(each) > off(best) + 0.2 ? each : best));
  const at = (reach, turn = 0) => `${(s.x + reach * Math.cos(angle + turn)).toFixed(1)},${(s.y + reach * Math.sin(angle + turn)).toFixed(1)}`;
  return [
    `<path d="M${at(ring + 34)} L${at(ring + 8)}" stroke="#222" class="start"/>`,
    `<polygon points="${at(ring + 1)} ${at(ring + 11, 0.14)} ${at(ring + 11, -0.14)}" fill="#222" class="start"/>`,
  ];
};

/* Machines that the page keeps packed, by name; unpacked when they are first needed. */
krohn.packed = {};
krohn.unpacked = async function (id) {
  if (krohn.packed[id]) return krohn.packed[id];
  const text = krohn.find(id).textContent.trim();
  if (!text) return (krohn.packed[id] = {});
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return (krohn.packed[id] = JSON.parse(await new Response(stream).text()));
};

/* States that words reach, numbered as they are reached. */
krohn.inOrder = function (table, start) {
  const order = [start];
  for (const state of order) for (const target of table[state]) if (!order.includes(target)) order.push(target);
  return { order, table: order.map((state) => table[state].map((target) => order.indexOf(target))) };
};

/* The machine of a drawing, if it is among the small ones: with its own names, its letters perhaps exchanged. */
krohn.lookUp = async function (drawing) {
  if (drawing.letters.length > 2) return null;
  const small = await krohn.unpacked("small");
  const two = drawing.table.map((row) => (row.length === 1 ? [row[0], row[0]] : row));
  const key = (table) => table.map((row) => row.join("")).join(".");
  const plain = krohn.inOrder(two, drawing.start);
  const other = krohn.inOrder(two.map((row) => [row[1], row[0]]), drawing.start);
  const exchanged = !small[key(plain.table)];
  const found = small[key(exchanged ? other.table : plain.table)];
  if (!found) return null;
  return krohn.renamed(found, drawing, exchanged ? other.order : plain.order, exchanged);
};

krohn.aboutDrawing = (name) =>
  name.startsWith("regex:") ? `Does the word read so far match ${name.slice(6)}?` : "The automaton that you drew: every letter moves it along one arrow.";

/* A machine whose two letters do the same, without the second: its words are among those that are proved. */
krohn.firstLetterOnly = function ({ automaton, network }) {
  automaton.table = automaton.table.map((row) => [row[0]]);
  const { embedding } = network.tensors;
  const values = krohn.numbers(embedding.data).slice(0, embedding.shape[1]);
  network.tensors.embedding = { shape: [1, embedding.shape[1]], values };
};

/* Letters and states of a small machine are signs that no text has by chance: names are put in their place. */
krohn.renamed = function (small, drawing, order, exchanged) {
  const { letters } = drawing;
  const names = { "\ue000": letters[exchanged ? 1 : 0], "\ue001": letters[exchanged ? 0 : 1] || letters[0] };
  for (const [state, name] of order.entries()) names[String.fromCharCode(0xe010 + state)] = `q${name}`;
  const machine = JSON.parse(JSON.stringify(small).replace(/[\ue000-\ue012]/g, (sign) => JSON.stringify(names[sign]).slice(1, -1)));
  const { automaton, network } = machine;
  machine.name = drawing.name;
  machine.about = krohn.aboutDrawing(drawing.name);
  automaton.letters = [...letters];
  automaton.observe = order.map((state) => (drawing.accept.has(state) ? 1 : 0));
  automaton.accepting = automaton.observe.flatMap((value, state) => (value ? [state] : []));
  if (exchanged) {
    automaton.table = automaton.table.map((row) => [row[1], row[0]]);
    const values = krohn.numbers(network.tensors.embedding.data);
    const dim = network.tensors.embedding.shape[1];
    const swapped = new Float64Array([...values.slice(dim, 2 * dim), ...values.slice(0, dim)]);
    network.tensors.embedding.data = btoa(String.fromCharCode(...new Uint8Array(swapped.buffer)));
  }
  if (letters.length === 1) krohn.firstLetterOnly(machine);
  machine.diagram = krohn.pictureOf({
    places: order.map((state) => drawing.places[state]),
    table: automaton.table,
    letters: automaton.letters,
    start: 0,
    accept: new Set(automaton.accepting),
    names: automaton.states,
  });
  return machine;
};
