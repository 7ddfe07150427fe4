"use strict";
/* A trained network beside the compiled one: the GPT that krohn train made, run here on the same word. */
krohn.Gpt = class {
  constructor(payload) {
    Object.assign(this, payload);
    this.weights = {};
    for (const [name, tensor] of Object.entries(payload.tensors)) {
      const bytes = Uint8Array.from(atob(tensor.data), (sign) => sign.charCodeAt(0));
      this.weights[name] = { shape: tensor.shape, values: Float64Array.from(new Float32Array(bytes.buffer)) };
    }
  }

  /* One letter more: its logits, with the keys and values of the letters before it in `cache`. */
  step(cache, letter, position) {
    const { dim } = this;
    let x = this.weights.wte.values.slice(letter * dim, (letter + 1) * dim);
    for (let c = 0; c < dim; c++) {
      const angle = position * Math.exp((-Math.log(10000) * (c - (c % 2))) / dim);
      x[c] += c % 2 ? Math.cos(angle) : Math.sin(angle);
    }
    for (let layer = 0; layer < this.layers; layer++) {
      const at = `h.${layer}`;
      const qkv = this.affine(this.normed(x, `${at}.ln_1`), `${at}.attn.c_attn`);
      x = this.sum(x, this.affine(this.attend((cache[layer] ||= []), qkv, position), `${at}.attn.c_proj`));
      const hidden = this.affine(this.normed(x, `${at}.ln_2`), `${at}.mlp.c_fc`).map(krohn.gelu);
      x = this.sum(x, this.affine(hidden, `${at}.mlp.c_proj`));
    }
    return this.affine(this.normed(x, "ln_f"), "head").subarray(0, this.classes);
  }

  /* A position replaces what a longer word had there: a search goes back and forth. */
  attend(rows, qkv, position) {
    const { dim, heads } = this;
    const width = dim / heads;
    rows.length = position;
    rows.push(qkv);
    const out = new Float64Array(dim);
    for (let first = 0; first < dim; first += width) {
      const scores = rows.map((row) => {
        let score = 0;
        for (let c = first; c < first + width; c++) score += qkv[c] * row[dim + c];
        return score / Math.sqrt(width);
      });
      const most = Math.max(...scores);
      const weights = scores.map((score) => Math.exp(score - most));
      const total = weights.reduce((a, b) => a + b);
      for (const [i, row] of rows.entries()) for (let c = first; c < first + width; c++) out[c] += (weights[i] / total) * row[2 * dim + c];
    }
    return out;
  }

  normed(x, name) {
    const mean = x.reduce((a, b) => a + b) / x.length;
    const spread = Math.sqrt(x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length + 1e-5);
    const [gain, shift] = [this.weights[`${name}.weight`].values, this.weights[`${name}.bias`].values];
    return x.map((value, c) => ((value - mean) / spread) * gain[c] + shift[c]);
  }

  affine(x, name) {
    const weight = this.weights[`${name}.weight`];
    const out = krohn.product(x, 1, x.length, weight.values, weight.shape[1]);
    return this.sum(out, this.weights[`${name}.bias`].values);
  }

  sum(x, y) {
    return x.map((value, c) => value + y[c]);
  }

  /* The state after one letter more. */
  answer(cache, letter, position) {
    const logits = this.step(cache, letter, position);
    return logits.indexOf(Math.max(...logits));
  }

  run(word) {
    const cache = [];
    return word.map((letter, position) => this.answer(cache, letter, position));
  }
};

krohn.gelu = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

/* The trained network of an automaton, if this page has one: the same table, whatever its letters are called. */
krohn.trainedFor = function (automaton) {
  const node = krohn.find("gpt");
  if (krohn.trained === undefined) krohn.trained = node && node.textContent.trim() ? new krohn.Gpt(JSON.parse(node.textContent)) : null;
  const same = krohn.trained && automaton.start === krohn.trained.start && JSON.stringify(automaton.table) === JSON.stringify(krohn.trained.table);
  return same ? krohn.trained : null;
};

/* Words in order of length, then words of habits, then random ones of the length of training and of the page's. */
krohn.TREE = 10;
krohn.firstFailure = async function (gpt, automaton, longest, isStale) {
  const letters = [...automaton.table[0].keys()];
  let [tried, pause] = [0, performance.now() + 12];
  const rest = async () => {
    if (performance.now() < pause) return false;
    await new Promise((resolve) => setTimeout(resolve));
    pause = performance.now() + 12;
    return isStale();
  };
  const cache = [];
  for (let length = 1; length <= Math.min(krohn.TREE, longest); length++) {
    const word = Array(length).fill(letters[0]);
    let [from, states] = [0, []];
    for (let number = 0; number < letters.length ** length; number++, tried++) {
      for (let place = length - 1, left = number; place >= 0; place--, left = Math.floor(left / letters.length)) {
        const letter = left % letters.length;
        if (word[place] !== letter) from = Math.min(from, place);
        word[place] = letter;
      }
      let answer = 0;
      for (let place = from; place < length; place++) {
        states[place] = automaton.table[place ? states[place - 1] : automaton.start][word[place]];
        answer = gpt.answer(cache, word[place], place);
      }
      from = length;
      if (answer !== states[length - 1]) return { word: [...word], tried, shorter: length - 1, least: true };
      if (await rest()) return null;
    }
  }
  const roll = krohn.dice(1);
  const habits = letters.map((letter) => () => letter).concat(letters.slice(1).map((letter) => (place) => (place % 2 ? letter : letters[0])));
  const random = Array.from({ length: 400 }, () => () => Math.floor(roll() * letters.length));
  for (const size of new Set([Math.min(gpt.length, longest), longest])) {
    for (const rule of [...habits, ...random]) {
      const word = Array.from({ length: size }, (_, place) => rule(place));
      const [truth, said] = [krohn.simulate(automaton, word), gpt.run(word)];
      tried++;
      const wrong = truth.findIndex((state, place) => state !== said[place]);
      if (wrong >= 0) return { word: word.slice(0, wrong + 1), tried, shorter: Math.min(krohn.TREE, longest), least: false };
      if (await rest()) return null;
    }
  }
  return { word: null, tried, shorter: Math.min(krohn.TREE, longest) };
};

/* The panel under the word, for automata that have a trained network here. */
krohn.Trained = class {
  constructor(explorer) {
    this.explorer = explorer;
    this.gpt = krohn.trainedFor(explorer.machine.automaton);
    const panel = krohn.find("learned");
    panel.hidden = !this.gpt;
    if (!this.gpt) return;
    const { layers, dim, parameters, length, accuracy, words } = this.gpt;
    const about = `Below each state stands the answer of a network that was trained instead: a GPT of ${layers} layers and width ${dim}, ${parameters.toLocaleString("en")} parameters, on words of ${length} letters. On ${words.toLocaleString("en")} fresh random words of that length ${(100 * accuracy).toFixed(2)} % of its states are right.`;
    this.button = krohn.make("button", { type: "button", id: "find-failure", on: { click: () => this.search() } }, "Find the first word that training gets wrong");
    this.says = krohn.make("p", { id: "failure", class: "note", role: "status" });
    const how = krohn.make("details", {}, krohn.make("summary", {}, "How it was trained"), krohn.make("code", {}, this.gpt.command));
    krohn.fill(panel, krohn.make("h3", {}, "Trained, on the same word"), krohn.make("p", { class: "note" }, about), krohn.make("p", { class: "buttons" }, this.button), this.says, how);
  }

  outputs(word) {
    return this.gpt ? this.gpt.run(word) : null;
  }

  async search() {
    const { explorer, gpt } = this;
    const { automaton } = explorer.machine;
    this.button.disabled = true;
    this.says.textContent = "Trying words …";
    const found = await krohn.firstFailure(gpt, automaton, explorer.network.length, () => krohn.current !== explorer);
    this.button.disabled = false;
    if (!found) return;
    if (!found.word) return void (this.says.textContent = `No wrong word among ${found.tried.toLocaleString("en")}; all of up to ${found.shorter} letters are right.`);
    const holds = explorer.network.run(found.word, false).outputs.every((state, place) => state === krohn.simulate(automaton, found.word)[place]);
    explorer.present(found.word);
    const first = found.least ? `The first wrong word, of ${found.word.length} letters: every shorter word is right.` : `All words of up to ${found.shorter} letters are right; of longer ones this is the first tried, of ${found.word.length} letters, that is wrong.`;
    this.says.textContent = `${first} The compiled network is ${holds ? "right" : "wrong"} on it.`;
  }
};
