"use strict";
/* A word that a network gets wrong: all short words in order of length, then random long ones made shorter. */
krohn.WORDS = 6000;
krohn.LONG_WORDS = 150;

krohn.dice = function (seed) {
  return function () {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
};

krohn.candidates = function* (letters, longest) {
  let tried = 0;
  for (let length = 1; length <= longest && tried + letters ** length <= krohn.WORDS; length++) {
    for (let number = 0; number < letters ** length; number++, tried++) {
      const word = [];
      for (let rest = number, i = 0; i < length; i++, rest = Math.floor(rest / letters)) word.unshift(rest % letters);
      yield { word, shortest: length };
    }
  }
  const roll = krohn.dice(1);
  for (let i = 0; i < krohn.LONG_WORDS; i++) {
    yield { word: Array.from({ length: longest }, () => Math.floor(roll() * letters)), shortest: 0 };
  }
};

/* Where the network first differs from the automaton; -1 if nowhere. */
krohn.wrongAt = function (network, automaton, word) {
  const outputs = network.run(word, false).outputs;
  return krohn.simulate(automaton, word).findIndex((state, i) => state !== outputs[i]);
};

/* Leaves out letters as long as the word stays wrong. */
krohn.shortened = function (network, automaton, word) {
  let best = word;
  for (let place = 0; place < best.length; ) {
    const fewer = [...best.slice(0, place), ...best.slice(place + 1)];
    const wrong = fewer.length ? krohn.wrongAt(network, automaton, fewer) : -1;
    if (wrong < 0) place++;
    else best = fewer.slice(0, wrong + 1);
  }
  return best;
};

/* Resolves to {word, tried, shortest, long, least}: `word` ends at its first wrong state, or is null; all words
   of up to `shortest` letters are right; with `least` no shorter word is wrong. */
krohn.firstWrong = async function (network, automaton, isStale) {
  let tried = 0;
  let shortest = 0;
  let long = 0;
  let pause = performance.now() + 12;
  for (const next of krohn.candidates(automaton.letters.length, network.length)) {
    if (performance.now() > pause) {
      await new Promise((resolve) => setTimeout(resolve));
      pause = performance.now() + 12;
      if (isStale()) return null;
    }
    tried++;
    const wrong = krohn.wrongAt(network, automaton, next.word);
    if (wrong >= 0 && next.shortest) return { word: next.word.slice(0, wrong + 1), tried, shortest: next.shortest - 1, long, least: true };
    if (wrong >= 0) {
      const word = krohn.shortened(network, automaton, next.word.slice(0, wrong + 1));
      return { word, tried, shortest, long, least: word.length === shortest + 1 };
    }
    if (next.shortest) shortest = next.shortest;
    else long++;
  }
  return { word: null, tried, shortest, long };
};
