"use strict";
/* The score: one column per position, one row per head and per register, block under block. */
krohn.Score = class {
  constructor(explorer) {
    this.explorer = explorer;
    this.host = krohn.find("score");
    this.scrolled = 0;
    this.whole = false;
    this.host.onscroll = () => (this.scrolled = this.host.scrollLeft);
    addEventListener("resize", () => (this.edges = null));
  }

  /* Anew, or, where the word has only grown and the weights are the same, just its new columns. */
  draw(from) {
    if (from === 0 || !this.rows) this.begin();
    const before = this.columns;
    this.columns = this.explorer.trace.positions - this.folded();
    for (const { node, cell } of this.rows) {
      const fresh = document.createDocumentFragment();
      for (let column = before; column < this.columns; column++) fresh.append(cell(column + this.folded()));
      node.append(fresh);
    }
    this.edges = null;
  }

  /* Positions of the prompt that share the first column, unless all are wanted: the last of them is shown. */
  folded() {
    return this.whole ? 0 : Math.max(0, this.explorer.network.padding - 1);
  }

  unfold() {
    this.whole = !this.whole;
    this.draw(0);
    this.show(this.explorer.cursor);
  }

  prompt(position) {
    const { padding } = this.explorer.network;
    if (padding < 2 || position !== this.folded()) return "⊥";
    const title = this.whole ? "Show the prompt in one column" : `The prompt: ${padding} positions that every word begins with. Show all`;
    return krohn.make("button", { type: "button", class: "fold", title, "aria-label": title, on: { click: () => this.unfold() } }, this.whole ? "⊥ «" : `⊥×${padding}`);
  }

  begin() {
    const { machine, network } = this.explorer;
    const { letters } = machine.automaton;
    this.rows = [];
    this.heads = [];
    this.columns = 0;
    const name = (position) => (position < network.padding ? this.prompt(position) : letters[this.explorer.word[position - network.padding]]);
    const top = krohn.make("tr", {}, krohn.make("th", { scope: "col" }, "position"));
    this.rows.push({ node: top, cell: (position) => krohn.make("th", { scope: "col" }, name(position)) });
    this.table = krohn.make("table", { class: "score" }, krohn.make("thead", {}, top), this.group("Embedding", this.registers(0, null)));
    for (let layer = 0; layer < network.shape.length; layer++) this.table.append(this.layer(layer));
    this.table.append(this.group("Output", [this.output()]));
    this.column = krohn.make("div", { class: "column", "aria-hidden": "true" });
    this.rest = krohn.make("div", { class: "rest", "aria-hidden": "true" });
    krohn.fill(this.host, krohn.make("div", { class: "sheet" }, this.table, this.rest, this.column));
  }

  layer(layer) {
    const { meaning } = this.explorer.machine;
    const said = meaning.head_words || meaning.heads;
    const rows = meaning.heads[layer].map((text, head) => this.head(layer, head, said[layer][head], text));
    rows.push(...this.registers(2 * layer + 1, 2 * layer), ...this.registers(2 * layer + 2, 2 * layer + 1));
    return this.group(`Block ${layer + 1}`, rows);
  }

  group(title, rows) {
    const caption = krohn.make("tr", { class: "group" }, krohn.make("th", { scope: "rowgroup" }, title));
    return krohn.make("tbody", {}, caption, ...rows);
  }

  row(kind, name, title, cell) {
    const node = krohn.make("tr", { class: kind }, krohn.make("th", { scope: "row", title: title || name }, name));
    this.rows.push({ node, cell });
    return node;
  }

  head(layer, head, words, text) {
    const cells = [];
    this.heads.push({ layer, head, cells });
    return this.row("head", `head ${head + 1} ${words}`, `Block ${layer + 1}, head ${head + 1}: ${text}`, () => {
      const mark = krohn.make("i");
      cells.push({ mark, strength: "", weight: 0 });
      return krohn.make("td", {}, mark);
    });
  }

  /* The registers that a moment holds and the one before did not. */
  registers(moment, before) {
    const { machine, network } = this.explorer;
    const channels = machine.meaning.moments[moment];
    const known = before === null ? [] : machine.meaning.moments[before].map((channel) => channel.name);
    return channels.flatMap((channel, index) => {
      if (!channel.register || known.includes(channel.name)) return [];
      const words = machine.meaning.words[channel.register];
      const text = words && channel.part ? `${words} (${channel.part})` : words || channel.name;
      const states = this.states(channel);
      return [
        this.row(states ? "register coded" : "register", text, `${text} · register: ${channel.name}`, (position) => {
          const value = this.explorer.trace.moments[moment][position * network.dim + index] / channel.scale;
          const state = states && position >= network.padding ? states.get(Math.round(value)) : undefined;
          const style = state === undefined ? this.tint(channel, value) : this.explorer.colours[state];
          return krohn.make("td", { style }, krohn.text(value));
        }),
      ];
    });
  }

  /* The states that the values of a register stand for, if it alone decides them. */
  states(channel) {
    const { coordinates, codes } = this.explorer.machine.meaning;
    if (coordinates.length !== 1 || channel.part || channel.register !== coordinates[0]) return null;
    return new Map(codes.flatMap((code, state) => (code ? [[code[0], state]] : [])));
  }

  /* Values of a register with few values have colours; 0 has none. */
  tint(channel, value) {
    const range = this.explorer.machine.meaning.registers[channel.register];
    const nearest = Math.round(value);
    if (!range || channel.part || range.kind === "wide" || nearest === 0 || Math.abs(value - nearest) > 0.01) return null;
    const span = Math.max(1, range.high - range.low + 1);
    return `--h:${Math.round((360 * (nearest - range.low)) / span + 60) % 360};--c:.09`;
  }

  output() {
    const { machine, network, colours } = this.explorer;
    return this.row("output", "state", "The state with the largest logit", (position) => {
      const index = position - network.padding;
      if (index < 0) return krohn.make("td");
      const state = this.explorer.trace.outputs[index];
      const right = state === this.explorer.truth[index];
      return krohn.make("td", { style: colours[state], class: right ? "state" : "state wrong" }, machine.automaton.states[state]);
    });
  }

  /* Where the columns begin, measured once for each word; two sheets over the table mark them later. */
  measure() {
    const cells = [...this.table.rows[0].cells].slice(1);
    this.edges = cells.map((cell) => cell.offsetLeft);
    this.edges.push(this.table.offsetWidth);
    this.label = this.table.rows[0].cells[0].offsetWidth;
    this.width = this.host.clientWidth;
  }

  /* The column of the current position, and where its heads look. */
  show(cursor) {
    const { trace, network } = this.explorer;
    const here = network.padding + cursor - 1;
    const column = here - this.folded();
    if (!this.edges) this.measure();
    const place = (sheet, from, to) => {
      sheet.style.transform = `translateX(${from}px)`;
      sheet.style.width = `${Math.max(0, to - from)}px`;
    };
    const end = this.edges[this.columns];
    place(this.column, column < 0 ? 0 : this.edges[column], column < 0 ? 0 : this.edges[column + 1]);
    place(this.rest, this.edges[column + 1], end);
    for (const { layer, head, cells } of this.heads) {
      const weights = trace.heads[layer][head];
      for (let p = 0; p < this.columns; p++) {
        let weight = 0;
        const first = p === 0 ? 0 : p + this.folded();
        for (let q = first; here >= 0 && q <= p + this.folded(); q++) weight += weights[here * trace.positions + q];
        cells[p].weight = weight;
        const strength = weight < 1e-4 ? "0" : (0.12 + 0.88 * Math.sqrt(weight)).toFixed(2);
        if (cells[p].strength === strength) continue;
        cells[p].strength = strength;
        // In the story a head sweeps back: what lies further away lights up later.
        cells[p].mark.style.transitionDelay = this.explorer.scene ? `${Math.min(900, 60 * Math.max(0, column - p))}ms` : "";
        cells[p].mark.style.opacity = strength;
        cells[p].mark.title = `weight ${weight.toFixed(4)}`;
      }
    }
    this.follow(Math.max(0, column));
  }

  follow(here) {
    const [left, right] = [this.scrolled + this.label, this.scrolled + this.width];
    if (this.edges[here] >= left && this.edges[here + 1] <= right) return;
    this.scrolled = Math.max(0, this.edges[here] - this.label - (this.width - this.label) / 2);
    this.host.scrollLeft = this.scrolled;
  }
};
