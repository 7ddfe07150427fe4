"use strict";
/* Break it: one weight at a time, and the first word that comes out wrong. */
krohn.Breaking = class {
  constructor(explorer) {
    this.explorer = explorer;
    this.round = 0;
    this.chosen = null;
    const { tensors } = explorer.network;
    this.names = Object.keys(tensors).filter(
      (name) => tensors[name].values.length && !/keep_|activation|positions|padding/.test(name),
    );
    krohn.fill("matrix", ...this.names.map((name) => krohn.make("option", { value: name }, krohn.matrixName(name))));
    krohn.find("matrix").value = this.fullest(tensors);
    krohn.find("nudge").disabled = krohn.find("mend").disabled = true;
    krohn.find("nudge").value = 0;
    krohn.find("matrix").onchange = () => this.draw();
    krohn.find("nudge").oninput = () => this.nudge();
    krohn.find("any").onclick = () => this.any();
    krohn.find("mend").onclick = () => this.mend();
    this.draw();
    this.tell("Nothing is broken yet. A word that comes out wrong will stand here, the shortest where it can be found.");
  }

  /* The matrix with the most weights that are not 0, among those that fit on a screen. */
  fullest(tensors) {
    const used = (name) => (tensors[name].shape.at(-1) > 40 ? 0 : tensors[name].values.filter((value) => value !== 0).length);
    return this.names.reduce((best, name) => (used(name) > used(best) ? name : best), this.names[0]);
  }

  tensor() {
    return this.explorer.network.tensors[krohn.find("matrix").value];
  }

  /* The matrix as a picture: one cell per weight, stronger colour for larger ones. */
  draw() {
    const { shape, values } = this.tensor();
    const [rows, columns] = shape.length === 1 ? [1, shape[0]] : shape;
    const most = Math.max(...values.map(Math.abs), 1e-12);
    this.cells = [];
    const shown = Math.min(rows, 64);
    const body = Array.from({ length: shown }, (_, row) =>
      krohn.make("tr", {}, ...Array.from({ length: columns }, (_, column) => krohn.make("td", {}, this.cell(row * columns + column, most)))),
    );
    const table = krohn.make("table", { "aria-label": `Weights of ${krohn.matrixName(krohn.find("matrix").value)}` }, krohn.make("tbody", {}, ...body));
    krohn.fill("weights", table);
    this.mark();
  }

  cell(index, most) {
    const value = this.tensor().values[index];
    const strength = value === 0 ? 0 : 0.15 + 0.85 * (Math.log1p(Math.abs(value)) / Math.log1p(most));
    const cell = krohn.make("button", {
      type: "button",
      class: value < 0 ? "minus" : "plus",
      style: `--w:${strength.toFixed(3)}`,
      title: String(value),
      "aria-label": `weight ${krohn.text(value)}`,
      on: { click: () => this.choose(krohn.find("matrix").value, index) },
    });
    this.cells[index] = cell;
    return cell;
  }

  choose(name, index) {
    this.restore();
    this.chosen = { name, index, value: this.explorer.network.tensors[name].values[index] };
    krohn.find("nudge").disabled = krohn.find("mend").disabled = false;
    krohn.find("nudge").value = 0;
    this.explorer.rerun();
    this.mark();
    this.tell("Now move it.");
  }

  mark() {
    const { chosen } = this;
    for (const [index, cell] of this.cells.entries()) {
      if (cell) cell.classList.toggle("chosen", Boolean(chosen) && chosen.name === krohn.find("matrix").value && chosen.index === index);
    }
    const now = chosen && this.explorer.network.tensors[chosen.name].values[chosen.index];
    krohn.find("chosen").textContent = chosen
      ? `${krohn.matrixName(chosen.name)}: ${krohn.exact(chosen.value)}${now === chosen.value ? "" : ` → ${krohn.exact(now)}`}`
      : "No weight chosen.";
  }

  nudge() {
    const { name, index, value } = this.chosen;
    const step = Number(krohn.find("nudge").value) / 100;
    const change = Math.sign(step) * step * step * Math.max(1, Math.abs(value)) * 1.5;
    this.explorer.network.tensors[name].values[index] = value + change;
    this.mark();
    krohn.showSeal(this.explorer.machine, step !== 0);
    this.explorer.rerun();
    this.searching = this.search();
  }

  any() {
    const name = this.names[Math.floor(Math.random() * this.names.length)];
    const { values } = this.explorer.network.tensors[name];
    const used = [...values.keys()].filter((index) => values[index] !== 0);
    krohn.find("matrix").value = name;
    this.restore();
    this.draw();
    this.choose(name, used.length ? used[Math.floor(Math.random() * used.length)] : 0);
    krohn.find("nudge").value = Math.random() < 0.5 ? -70 : 70;
    this.nudge();
  }

  /* The same weight every time: the first of the fullest matrix that is not 0. */
  breakOne() {
    const name = this.fullest(this.explorer.network.tensors);
    krohn.find("matrix").value = name;
    this.draw();
    this.choose(name, this.explorer.network.tensors[name].values.findIndex((value) => value !== 0));
    krohn.find("nudge").value = 80;
    this.nudge();
  }

  restore() {
    this.round++;
    this.wrong = null;
    if (!this.chosen) return;
    this.explorer.network.tensors[this.chosen.name].values[this.chosen.index] = this.chosen.value;
    krohn.showSeal(this.explorer.machine, false);
  }

  isChanged() {
    return Boolean(this.chosen) && Number(krohn.find("nudge").value) !== 0;
  }

  /* The changed weight in a link: its matrix, its place and how far it is moved. */
  written() {
    return `${this.chosen.name}:${this.chosen.index}:${krohn.find("nudge").value}`;
  }

  fromLink(text) {
    const [name, index, step] = text.split(":");
    const [place, moved] = [Number(index), Number(step)];
    const tensor = this.names.includes(name) ? this.explorer.network.tensors[name] : null;
    if (!tensor || !Number.isInteger(place) || !Number.isInteger(moved) || !(place in tensor.values) || Math.abs(moved) > 100) return;
    krohn.find("matrix").value = name;
    this.draw();
    this.choose(name, place);
    krohn.find("nudge").value = moved;
    this.nudge();
  }

  mend() {
    this.restore();
    krohn.find("nudge").value = 0;
    this.mark();
    this.tell(this.explorer.machine.certificate ? "Mended: these are the certified weights again." : "Mended: these are the weights as built again.");
    this.explorer.rerun();
  }

  async search() {
    const round = ++this.round;
    this.tell("Looking for a wrong word …");
    const { network, machine } = this.explorer;
    const found = await krohn.firstWrong(network, machine.automaton, () => round !== this.round);
    if (!found || round !== this.round) return;
    if (!found.word) {
      const random = `${found.long} random ones of ${network.length}`;
      return this.tell(`Still right on all words of up to ${found.shortest} letters and ${random}. That is no proof.`);
    }
    const { letters } = machine.automaton;
    this.wrong = found.word;
    const text = found.word.map((letter) => letters[letter]).join(" ");
    const show = krohn.make("button", { type: "button", id: "show-wrong", on: { click: () => this.explorer.present(found.word) } }, "Show it above");
    krohn.find("damage").className = "damage bad";
    const count = `${found.word.length} ${found.word.length === 1 ? "letter" : "letters"}`;
    const all = found.shortest === 1 ? "1 letter" : `${found.shortest} letters`;
    const title = found.least
      ? `Broken. Shortest wrong word (${count}; every shorter word is right): `
      : `Broken. A wrong word (${count}; every word of up to ${all} is right, longer ones were only sampled): `;
    krohn.fill("damage", title, krohn.make("code", {}, text), " ", show);
  }

  tell(text) {
    krohn.find("damage").className = "damage";
    krohn.find("damage").textContent = text;
  }
};

krohn.exact = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(6)).toString());

/* layers.0.heads.1.W_Q → block 1, head 2: query. */
krohn.matrixName = function (name) {
  const roles = { W_Q: "query", W_K: "key", W_V: "value", W_C: "output", W: "weights", b: "biases" };
  const found = /^layers\.(\d+)\.(heads|mlp)\.(\d+)\.(\w+)$/.exec(name);
  if (!found) return name.replace("_", " ").replace("readout", "read-out");
  const part = found[2] === "heads" ? "head" : "MLP matrix";
  return `block ${Number(found[1]) + 1}, ${part} ${Number(found[3]) + 1}: ${roles[found[4]] || found[4]}`;
};
