"use strict";
/* The network's answer at the current position: cascade coordinates as dials, logits as bars. */
krohn.Inside = class {
  constructor(explorer) {
    this.explorer = explorer;
    this.drawDials();
    this.drawLogits();
  }

  drawDials() {
    const { meaning } = this.explorer.machine;
    const { coordinates, registers } = meaning;
    this.dials = coordinates.map((name, index) => {
      const range = registers[name] || { low: 0, high: 1 };
      return this.dial(name, index, range.low, range.high);
    });
    krohn.find("dials-title").hidden = !this.dials.length;
    krohn.fill("coordinates", ...this.dials.map((dial) => dial.node));
  }

  dial(name, index, low, high) {
    const count = high - low + 1;
    const svg = krohn.make("svg:svg", { viewBox: "-34 -34 68 68", "aria-hidden": "true" });
    const dots = [];
    for (let i = 0; i < count && count <= 24; i++) {
      const angle = (2 * Math.PI * i) / count - Math.PI / 2;
      dots.push(krohn.make("svg:circle", { cx: 24 * Math.cos(angle), cy: 24 * Math.sin(angle), r: count > 12 ? 3 : 5 }));
    }
    const number = krohn.make("svg:text", { "text-anchor": "middle", dy: "0.36em", "font-size": 19 });
    svg.append(krohn.make("svg:circle", { r: 24, class: "rim" }), ...dots, number);
    const node = krohn.make("figure", { class: "dial" }, svg, krohn.make("figcaption", {}, name));
    return { node, dots, number, index, low, name };
  }

  drawLogits() {
    const { machine, colours } = this.explorer;
    const { states } = machine.automaton;
    this.shown = Math.min(states.length, 12);
    this.bars = Array.from({ length: this.shown }, () => {
      const name = krohn.make("span", { class: "name" });
      const bar = krohn.make("i");
      const value = krohn.make("span", { class: "value" });
      const node = krohn.make("div", { class: "logit" }, name, krohn.make("span", { class: "track" }, bar), value);
      return { node, name, bar, value };
    });
    this.colours = colours;
    krohn.fill("logits", ...this.bars.map((bar) => bar.node));
  }

  show(cursor) {
    this.showVerdict(cursor);
    this.showDials(cursor);
    this.showLogits(cursor);
  }

  showVerdict(cursor) {
    const { machine, trace, truth, colours } = this.explorer;
    const { states } = machine.automaton;
    if (cursor === 0) return void krohn.fill("verdict", "Nothing read yet. The network answers after each letter.");
    const [got, must] = [trace.outputs[cursor - 1], truth[cursor - 1]];
    const chip = krohn.make("b", { class: "chip", style: colours[got] }, states[got]);
    const right = got === must;
    const words = right ? ["✓ right"] : ["✗ wrong, it must be ", krohn.make("b", { class: "chip", style: colours[must] }, states[must])];
    krohn.fill("verdict", `After ${cursor} ${cursor === 1 ? "letter" : "letters"}: `, chip, " ", krohn.make("span", { class: right ? "right" : "bad" }, ...words));
  }

  /* Coordinates are read off the residual stream after the last layer, not off the automaton. */
  showDials(cursor) {
    const { machine, trace, network } = this.explorer;
    const last = machine.meaning.moments.length - 1;
    const here = Math.max(0, network.padding + cursor - 1);
    for (const dial of this.dials) {
      const channel = machine.meaning.moments[last].findIndex((c) => c.register === dial.name && !c.part);
      const scale = channel < 0 ? 1 : machine.meaning.moments[last][channel].scale;
      const value = channel < 0 || cursor === 0 ? null : trace.moments[last][here * network.dim + channel] / scale;
      dial.number.textContent = value === null ? "·" : krohn.text(value);
      for (const [i, dot] of dial.dots.entries()) {
        dot.classList.toggle("lit", value !== null && Math.round(value) - dial.low === i);
      }
    }
  }

  showLogits(cursor) {
    const { machine, trace, network } = this.explorer;
    const { states } = machine.automaton;
    const values = cursor === 0 ? [] : [...trace.logits.subarray((cursor - 1) * network.states, cursor * network.states)];
    const order = values.map((value, state) => ({ value, state })).sort((a, b) => b.value - a.value || a.state - b.state);
    const [most, least] = order.length ? [order[0].value, order[order.length - 1].value] : [1, 0];
    for (const [rank, bar] of this.bars.entries()) {
      const item = order[rank];
      bar.node.classList.toggle("first", Boolean(item) && rank === 0);
      bar.name.textContent = item ? states[item.state] : "–";
      bar.name.setAttribute("style", item ? this.colours[item.state] : "");
      bar.bar.setAttribute("style", item ? this.colours[item.state] : "");
      bar.bar.style.width = item ? `${4 + (96 * (item.value - least)) / (most - least || 1)}%` : "0";
      bar.value.textContent = item ? krohn.text(item.value) : "";
    }
  }
};
