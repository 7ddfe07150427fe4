"use strict";
/* Whether the word read so far is in the language, where the automaton has one. */
krohn.matches = function (machine, state) {
  const { accepting, observe, observed } = machine.automaton;
  if (observed) return observed[state];
  if (!observe || observe.some((value) => value > 1)) return "";
  const yes = accepting.includes(state);
  return machine.name.startsWith("regex:") ? (yes ? "match" : "no match") : yes ? "accepted" : "not accepted";
};

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
    const { codes, words } = meaning;
    this.dials = coordinates.map((name, index) => {
      const range = registers[name] || { low: 0, high: 1 };
      // A register alone names the state: then its values are codes, and people read states.
      const named = coordinates.length === 1 ? new Map(codes.flatMap((code, state) => (code ? [[code[0], state]] : []))) : null;
      const [low, high] = named ? [0, named.size - 1] : [range.low, range.high];
      return { ...this.dial(words[name] || name, name, index, low, high), named, name };
    });
    krohn.find("dials-title").hidden = !this.dials.length;
    krohn.fill("coordinates", ...this.dials.map((dial) => dial.node));
  }

  dial(words, name, index, low, high) {
    const count = high - low + 1;
    const svg = krohn.make("svg:svg", { viewBox: "-34 -34 68 68", "aria-hidden": "true" });
    const dots = [];
    for (let i = 0; i < count && count <= 24; i++) {
      const angle = (2 * Math.PI * i) / count - Math.PI / 2;
      dots.push(krohn.make("svg:circle", { cx: 24 * Math.cos(angle), cy: 24 * Math.sin(angle), r: count > 12 ? 3 : 5 }));
    }
    const number = krohn.make("svg:text", { "text-anchor": "middle", dy: "0.36em", "font-size": 19 });
    svg.append(krohn.make("svg:circle", { r: 24, class: "rim" }), ...dots, number);
    const node = krohn.make("figure", { class: "dial" }, svg, krohn.make("figcaption", { title: `register: ${name}` }, words));
    return { node, dots, number, index, low };
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
    const says = krohn.matches(machine, got);
    const match = says ? krohn.make("b", { class: says === "match" || says === "accepted" ? "match yes" : "match" }, says) : null;
    const words = right ? ["✓ right"] : ["✗ wrong, it must be ", krohn.make("b", { class: "chip", style: colours[must] }, states[must])];
    krohn.fill("verdict", `After ${cursor} ${cursor === 1 ? "letter" : "letters"}: `, chip, " ", match, match ? " " : "", krohn.make("span", { class: right ? "right" : "bad" }, ...words));
  }

  /* Coordinates are read off the residual stream after the last block, not off the automaton. */
  showDials(cursor) {
    const { machine, trace, network } = this.explorer;
    const last = machine.meaning.moments.length - 1;
    const here = Math.max(0, network.padding + cursor - 1);
    for (const dial of this.dials) {
      const channel = machine.meaning.moments[last].findIndex((c) => c.register === dial.name && !c.part);
      const scale = channel < 0 ? 1 : machine.meaning.moments[last][channel].scale;
      const value = channel < 0 || cursor === 0 ? null : trace.moments[last][here * network.dim + channel] / scale;
      const state = dial.named && value !== null ? dial.named.get(Math.round(value)) : undefined;
      const shown = state === undefined ? krohn.text(value) : machine.automaton.states[state];
      dial.number.textContent = value === null ? "·" : shown;
      dial.number.setAttribute("font-size", shown.length > 3 ? 13 : 19);
      if (dial.named && value !== null) dial.node.title = `the register ${dial.name} holds ${krohn.text(value)}`;
      const lit = dial.named ? [...dial.named.values()].sort((a, b) => a - b).indexOf(state) : Math.round(value) - dial.low;
      for (const [i, dot] of dial.dots.entries()) dot.classList.toggle("lit", value !== null && lit === i);
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
