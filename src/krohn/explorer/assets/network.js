"use strict";
/* The compiled network: the same matrices, and the same forward pass in float64, as krohn.network.transformer. */
const krohn = {};

krohn.numbers = function (base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Float64Array(bytes.buffer);
};

/* rows × inner times inner × columns. */
krohn.product = function (left, rows, inner, right, columns) {
  const out = new Float64Array(rows * columns);
  for (let r = 0; r < rows; r++) {
    for (let k = 0; k < inner; k++) {
      const value = left[r * inner + k];
      if (value === 0) continue;
      for (let c = 0; c < columns; c++) out[r * columns + c] += value * right[k * columns + c];
    }
  }
  return out;
};

krohn.Network = class {
  constructor(payload) {
    this.length = payload.length;
    this.padding = payload.padding;
    this.shape = payload.shape;
    this.tensors = {};
    for (const [name, tensor] of Object.entries(payload.tensors)) {
      this.tensors[name] = { shape: tensor.shape, values: tensor.values ? tensor.values.slice() : krohn.numbers(tensor.data) };
    }
    this.dim = this.tensors.embedding.shape[1];
    this.states = this.tensors.readout.shape[1];
  }

  /* The word through the network; with `full`, every moment and every attention weight is kept. */
  run(word, full) {
    const positions = this.padding + word.length;
    let stream = this.embedded(word, positions);
    const trace = { positions, moments: full ? [stream] : null, heads: full ? [] : null };
    for (let layer = 0; layer < this.shape.length; layer++) stream = this.block(layer, stream, positions, trace);
    trace.logits = this.readOut(stream, positions);
    trace.outputs = this.largest(trace.logits, word.length);
    return trace;
  }

  embedded(word, positions) {
    const { embedding, padding, positions: places } = this.tensors;
    const stream = new Float64Array(positions * this.dim);
    for (let p = 0; p < positions; p++) {
      const [source, row] = p < this.padding ? [padding, p] : [embedding, word[p - this.padding]];
      for (let c = 0; c < this.dim; c++) {
        stream[p * this.dim + c] = source.values[row * this.dim + c] + places.values[p * this.dim + c];
      }
    }
    return stream;
  }

  block(layer, stream, positions, trace) {
    const [heads, matrices] = this.shape[layer];
    const mixed = this.kept(stream, `layers.${layer}.keep_attention`);
    const kept = [];
    for (let head = 0; head < heads; head++) {
      const part = this.attend(layer, head, stream, positions, kept);
      for (let i = 0; i < mixed.length; i++) mixed[i] += part[i];
    }
    const out = this.kept(mixed, `layers.${layer}.keep_mlp`);
    const added = this.mlp(layer, matrices, mixed, positions);
    for (let i = 0; i < out.length; i++) out[i] += added[i];
    if (trace.moments) {
      trace.moments.push(mixed, out);
      trace.heads.push(kept);
    }
    return out;
  }

  kept(stream, name) {
    const keep = this.tensors[name].values;
    return stream.map((value, i) => value * keep[i % this.dim]);
  }

  attend(layer, head, stream, positions, kept) {
    const part = (name) => this.tensors[`layers.${layer}.heads.${head}.${name}`];
    const [q, k, v, c] = ["W_Q", "W_K", "W_V", "W_C"].map(part);
    const inner = q.shape[1];
    const query = krohn.product(stream, positions, this.dim, q.values, inner);
    const key = krohn.product(stream, positions, this.dim, k.values, inner);
    const value = krohn.product(stream, positions, this.dim, v.values, v.shape[1]);
    const weights = new Float64Array(positions * positions);
    for (let t = 0; t < positions; t++) this.softmax(weights, query, key, t, positions, inner);
    kept.push(weights);
    const mixed = krohn.product(weights, positions, positions, value, v.shape[1]);
    return krohn.product(mixed, positions, v.shape[1], c.values, this.dim);
  }

  softmax(weights, query, key, t, positions, inner) {
    const last = t;
    let most = -Infinity;
    for (let i = 0; i <= last; i++) {
      let score = 0;
      for (let d = 0; d < inner; d++) score += query[t * inner + d] * key[i * inner + d];
      weights[t * positions + i] = score;
      if (score > most) most = score;
    }
    let sum = 0;
    for (let i = 0; i <= last; i++) sum += weights[t * positions + i] = Math.exp(weights[t * positions + i] - most);
    for (let i = 0; i <= last; i++) weights[t * positions + i] /= sum;
  }

  mlp(layer, matrices, stream, positions) {
    let hidden = stream;
    let width = this.dim;
    for (let m = 0; m < matrices; m++) {
      const weight = this.tensors[`layers.${layer}.mlp.${m}.W`];
      const bias = this.tensors[`layers.${layer}.mlp.${m}.b`].values;
      const columns = weight.shape[1];
      hidden = krohn.product(hidden, positions, width, weight.values, columns);
      const sine = m < matrices - 1 ? this.tensors[`layers.${layer}.mlp.${m}.activation`].values : null;
      for (let i = 0; i < hidden.length; i++) {
        hidden[i] += bias[i % columns];
        if (sine) hidden[i] = sine[i % columns] === 1 ? Math.sin(hidden[i]) : Math.max(hidden[i], 0);
      }
      width = columns;
    }
    return hidden;
  }

  readOut(stream, positions) {
    const { readout, readout_bias: bias } = this.tensors;
    const letters = stream.subarray(this.padding * this.dim);
    const out = krohn.product(letters, positions - this.padding, this.dim, readout.values, this.states);
    for (let i = 0; i < out.length; i++) out[i] += bias.values[i % this.states];
    return out;
  }

  largest(logits, length) {
    const found = new Int32Array(length);
    for (let t = 0; t < length; t++) {
      for (let s = 1; s < this.states; s++) {
        if (logits[t * this.states + s] > logits[t * this.states + found[t]]) found[t] = s;
      }
    }
    return found;
  }
};

/* The automaton itself: the states after each letter. */
krohn.simulate = function (automaton, word) {
  let state = automaton.start;
  return word.map((letter) => (state = automaton.table[state][letter]));
};
