"use strict";
/* The network of any automaton, built in the page: each position holds where every state goes, and each layer
   joins that with what stands 1, 2, 4 … letters back, by a head that looks there and a table in the MLP. It is
   run, not proved. */
krohn.BUILT_LENGTH = 16;
krohn.SHARP = 40; // makes the weights of all positions but one less than 1e-17

krohn.build = function (drawing) {
  const { order, table } = krohn.inOrder(drawing.table, drawing.start);
  const names = order.map((state) => `q${state}`);
  const layers = Math.ceil(Math.log2(krohn.BUILT_LENGTH));
  const accept = order.flatMap((state, index) => (drawing.accept.has(state) ? [index] : []));
  const scan = krohn.scanNetwork(table, layers);
  const heads = Array.from({ length: layers }, (_, layer) => [layer ? `looks ${2 ** layer} letters back` : "looks one letter back"]);
  const size = { depth: layers, blocks: layers, dim: scan.dim, heads: 1, mlp_width: table.length ** 3, num_parameters: scan.count };
  return {
    name: drawing.name,
    built: true,
    about: krohn.aboutDrawing(drawing.name),
    automaton: { states: names, letters: [...drawing.letters], start: 0, table, observe: order.map((state) => (drawing.accept.has(state) ? 1 : 0)), accepting: accept },
    diagram: krohn.pictureOf({ places: order.map((state) => drawing.places[state]), table, letters: drawing.letters, start: 0, accept: new Set(accept), names }),
    algebra: null,
    plan: { method: "scan", levels: 0, components: [], heads },
    network: { method: "scan", length: krohn.BUILT_LENGTH, padding: 1, shape: Array.from({ length: layers }, () => [1, 2]), tensors: scan.tensors },
    meaning: { ...krohn.scanMeaning(names, layers), heads, head_words: heads, maps: [], registers: {}, coordinates: [], codes: [] },
    sizes: { theorem: "", rows: Object.entries(size).map(([name, built]) => ({ name, built, recipe: null })) },
    certificate: null,
  };
};

/* Channels: 1, the position, its square; then f[q][p], whether the letters read so far lead from q to p; then
   what the head brings, in the same form. */
krohn.scanNetwork = function (table, layers) {
  const n = table.length;
  const dim = 3 + 2 * n * n;
  const f = (q, p) => 3 + q * n + p;
  const g = (q, p) => 3 + n * n + q * n + p;
  const tensors = {};
  const make = (name, ...shape) => (tensors[name] = { shape, values: new Float64Array(shape.reduce((a, b) => a * b, 1)) }).values;
  const states = [...table.keys()];
  const embedding = make("embedding", table[0].length, dim);
  table.forEach((row, q) => row.forEach((p, letter) => (embedding[letter * dim + f(q, p)] = 1)));
  const padding = make("padding", 1, dim);
  for (const q of states) padding[f(q, q)] = 1;
  const positions = make("positions", krohn.BUILT_LENGTH + 1, dim);
  for (let i = 0; i <= krohn.BUILT_LENGTH; i++) positions.set([1, i, i * i], i * dim);
  for (let layer = 0; layer < layers; layer++) {
    const at = `layers.${layer}`;
    make(`${at}.keep_attention`, dim).fill(1);
    make(`${at}.keep_mlp`, dim).set([1, 1, 1]);
    // The score −SHARP·(i − (t − back))², without the part that all i share; before the word it is ⊥, which stays.
    make(`${at}.heads.0.W_Q`, dim, 2).set([-(2 ** layer), 1, 1, 0]);
    make(`${at}.heads.0.W_K`, dim, 2).set([0, 0, 2 * krohn.SHARP, 0, 0, -krohn.SHARP]);
    const [value, output] = [make(`${at}.heads.0.W_V`, dim, n * n), make(`${at}.heads.0.W_C`, n * n, dim)];
    for (let i = 0; i < n * n; i++) value[(3 + i) * n * n + i] = output[i * dim + 3 + n * n + i] = 1;
    // A hidden unit for q → r → p: first what the head brings, then what stands here.
    const [first, bias] = [make(`${at}.mlp.0.W`, dim, n ** 3), make(`${at}.mlp.0.b`, n ** 3).fill(-1)];
    make(`${at}.mlp.0.activation`, n ** 3);
    const second = make(`${at}.mlp.1.W`, n ** 3, dim);
    make(`${at}.mlp.1.b`, dim);
    for (const q of states) {
      for (const r of states) {
        for (const p of states) {
          const unit = (q * n + r) * n + p;
          first[g(q, r) * bias.length + unit] = first[f(r, p) * bias.length + unit] = 1;
          second[unit * dim + f(q, p)] = 1;
        }
      }
    }
  }
  const readout = make("readout", dim, n);
  for (const p of states) readout[f(0, p) * n + p] = 1;
  make("readout_bias", n);
  const kept = Object.entries(tensors).filter(([name]) => !/keep_|activation/.test(name));
  return { tensors, dim, count: kept.reduce((sum, [, tensor]) => sum + tensor.values.length, 0) };
};

/* What the rows of the score say: where the start leads after the letters that a layer has joined. */
krohn.scanMeaning = function (names, layers) {
  const n = names.length;
  const words = {};
  const moment = (layer) => {
    const channels = Array.from({ length: 3 + 2 * n * n }, () => ({ name: "", register: null, scale: 1, part: "" }));
    for (const [state, name] of names.entries()) {
      const register = `${2 ** layer} ${name}`;
      words[register] = layer ? `the last ${2 ** layer} letters lead from ${names[0]} to ${name}` : `this letter leads from ${names[0]} to ${name}`;
      channels[3 + state] = { name: register, register, scale: 1, part: "" };
    }
    return channels;
  };
  const moments = [moment(0)];
  for (let layer = 1; layer <= layers; layer++) moments.push(moment(layer - 1), moment(layer));
  return { moments, words };
};
