"use strict";
/* What stays the same for every word: the summary, the sizes beside the theorems, the certificate. */
krohn.LABELS = {
  depth: "layers",
  blocks: "blocks of GPT-2",
  dim: "dimensions",
  heads: "heads per layer",
  mlp_width: "MLP width",
  num_parameters: "parameters",
  max_weight: "largest weight",
};
krohn.CLASSES = {
  AC0: "Nothing in it counts round and round like a clock, except along with the length of the word, so the number of layers need not grow with the length.",
  ACC0: "It counts round and round like a clock, and its counters can be taken apart into simple ones (every group in it is solvable), so the number of layers need not grow with the length.",
  "NC1-complete": "It has a counter that cannot be taken apart into simple ones (a group in it is not solvable): here the number of layers grows with the logarithm of the length.",
};

krohn.showFacts = function (machine) {
  const { automaton, sizes } = machine;
  const size = Object.fromEntries(sizes.rows.map((row) => [row.name, row.built]));
  const gallery = !krohn.find("gallery-head").hidden;
  document.title = gallery ? `${machine.name} · Gallery · krohn` : `${machine.name} · krohn`;
  krohn.find("name").textContent = machine.name;
  krohn.find("about").textContent = machine.about;
  krohn.find("summary").textContent =
    `An automaton of ${automaton.states.length} states and ${automaton.letters.length} letters, ` +
    `run by a Transformer of ${size.depth} ${size.depth === 1 ? "layer" : "layers"} and ${size.dim} dimensions.`;
  krohn.showSeal(machine, false);
  krohn.showSizes(sizes);
  krohn.showAlgebra(machine);
};

/* The seal and the certificate are about the weights as compiled; `changed`: one of them has been moved. */
krohn.showSeal = function (machine, changed) {
  const { automaton, network, certificate } = machine;
  const proved = certificate && certificate.certified && !changed;
  const words = `${automaton.letters.length}${krohn.raised(network.length)}`;
  const text = changed
    ? "a weight is changed: nothing is proved about this network"
    : machine.built
      ? `built in this page, not proved${machine.tried || ""}`
    : proved
      ? `proved right on every word of up to ${network.length} letters; there are ${words} words of ${network.length} letters alone`
      : "no certificate";
  krohn.fill("seal", krohn.make("span", { class: proved ? "stamp" : "stamp none" }, proved ? "✓" : changed ? "✗" : "?"), krohn.make("span", {}, text));
  krohn.showCertificate(certificate, network, changed);
};

/* The cascade: one row per level, each component with the simple factors of its group. */
krohn.showAlgebra = function (machine) {
  const { algebra, plan } = machine;
  const plain = algebra && krohn.CLASSES[algebra.complexity] ? krohn.make("p", { class: "note" }, krohn.CLASSES[algebra.complexity]) : null;
  const reason = algebra ? krohn.make("details", {}, krohn.make("summary", {}, "In the words of algebra"), krohn.make("p", { class: "note" }, `${algebra.reason[0].toUpperCase()}${algebra.reason.slice(1)}.`)) : null;
  const levels = Array.from({ length: plan.levels }, (_, level) =>
    krohn.make("li", {}, ...plan.components.filter((part) => part.level === level).map(krohn.component)),
  );
  const looks = plan.heads.map((texts, layer) =>
    krohn.make("li", {}, krohn.make("b", {}, `block ${layer + 1}`), ...texts.slice(0, 8).map((text) => krohn.make("span", { class: "part" }, text))),
  );
  const count = `${plan.levels} ${plan.levels === 1 ? "level" : "levels"}`;
  const scan = plan.method === "scan" ? "Built as a scan: each layer doubles the letters taken together" : "Built from what heads can see at once";
  const title = plan.levels ? `Built from its Krohn–Rhodes cascade, ${count}` : scan;
  krohn.fill("algebra", plain, krohn.make("h3", {}, title), krohn.make("ol", { class: "cascade" }, ...levels, ...looks), reason);
};

krohn.component = function (part) {
  const kind = part.group ? "group" : part.kind === "permutation-reset" ? "memory" : part.kind;
  const factors = part.factors.length > 1 ? part.factors.map((factor) => krohn.make("i", {}, factor)) : [];
  return krohn.make("span", { class: `part ${kind.replace(" ", "-")}` }, krohn.make("b", {}, part.group || kind), ` ${part.tiles} states `, ...factors);
};

/* Bars on a logarithmic scale: built, and what the paper's own statements give at best. */
krohn.showSizes = function (sizes) {
  const columns = [
    ["built", "built here"],
    ["recipe", "the paper at its best"],
  ];
  const written = (value) => krohn.text(value).replace(/^(\d(?:\.\d+)?)e\+?(\d+)$/, (_, digits, power) => (digits === "1" ? "" : `${digits}·`) + `10${krohn.raised(power)}`);
  const magnitude = (value) => (typeof value === "number" ? Math.log10(Math.max(1, value)) : krohn.exponent(value));
  const rows = sizes.rows.filter((row) => row.recipe !== null).map((row) => {
    const most = Math.max(...columns.map(([key]) => (row[key] === null ? 0 : magnitude(row[key]))), 1);
    const bars = columns
      .filter(([key]) => row[key] !== null)
      .map(([key, text]) =>
        krohn.make(
          "div",
          { class: `size ${key}` },
          krohn.make("em", {}, text),
          krohn.make("b", {}, written(row[key])),
          krohn.make("i", { style: `width:${3 + (97 * Math.min(magnitude(row[key]), most)) / most}%` }),
        ),
      );
    return krohn.make("div", { class: "quantity" }, krohn.make("h3", {}, krohn.LABELS[row.name] || row.name), ...bars);
  });
  const built = Object.fromEntries(sizes.rows.map((row) => [row.name, row.built]));
  const list = krohn.make("dl", { class: "proof" });
  for (const name of ["depth", "blocks", "dim", "num_parameters"]) {
    if (built[name] !== undefined) list.append(krohn.make("dt", {}, name === "dim" ? "width" : krohn.LABELS[name]), krohn.make("dd", {}, krohn.text(built[name])));
  }
  if (!rows.length) return void krohn.fill("sizes", list);
  krohn.fill("sizes", list, ...rows, krohn.make("p", { class: "note" }, `Bars are logarithmic. The paper at its best: the smallest network that its own statements give, here by its ${sizes.theorem}.`));
};

krohn.exponent = function (text) {
  const found = /1e\+?(\d+)/.exec(text) || [];
  return found[1] ? Number(found[1]) : String(text).replace(/\D/g, "").length;
};

/* Checks number blocks from 1; 0 is the whole network, one more than there are the read-out. */
krohn.placeOf = (layer, depth) => (layer < 1 ? "" : layer <= depth ? `block ${layer} · ` : "read-out · ");

krohn.showCertificate = function (certificate, network, changed) {
  if (!certificate) return void krohn.fill("certificate", krohn.make("p", {}, "This network was built in your browser by a general recipe and is not proved. krohn compile writes a smaller one, and krohn verify proves it."));
  const { exhaustive } = certificate;
  const margin = certificate.margin === null ? "unlimited" : certificate.margin.toPrecision(4);
  const facts = [
    ["holds for", `every word of length ≤ ${certificate.length}, in ${certificate.dtype}`],
    ["logit margin", `${margin} after all rounding errors`],
    ["checks", `${certificate.checks.length}, each an inequality about these weights`],
    ["also run", exhaustive ? `all ${exhaustive.words.toLocaleString("en")} words of length ${exhaustive.length}: ${exhaustive.wrong} wrong` : "–"],
    ["weights", `sha-256 ${certificate.network.slice(0, 16)}…`],
  ];
  const list = krohn.make("dl", { class: "proof" });
  for (const [term, text] of facts) list.append(krohn.make("dt", {}, term), krohn.make("dd", {}, text));
  const steps = certificate.checks.map((check) =>
    krohn.make("li", {}, krohn.make("b", {}, krohn.placeOf(check.layer, network.shape.length) + check.name), ` ${check.text}`),
  );
  const whole = krohn.make("details", {}, krohn.make("summary", {}, "The proof, step by step"), krohn.make("ol", {}, ...steps));
  const verdict = certificate.certified ? null : krohn.make("p", { class: "bad" }, `Not certified: ${certificate.reason}`);
  const warning = changed ? krohn.make("p", { class: "bad" }, "A weight has been changed by hand. What follows is about the weights as compiled, and does not hold now.") : null;
  krohn.fill("certificate", warning, verdict, list, whole);
  krohn.find("certificate").classList.toggle("void", Boolean(changed));
};
