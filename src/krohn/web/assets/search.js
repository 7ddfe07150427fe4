"use strict";
/* The first word that a network gets wrong: all short words in order of length, then random long ones. */
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

/* Resolves to {word, tried, shortest, long}: `word` ends at its first wrong state, or is null. */
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
    if (next.shortest) shortest = next.shortest;
    else long++;
    const expected = krohn.simulate(automaton, next.word);
    const outputs = network.run(next.word, false).outputs;
    const wrong = expected.findIndex((state, i) => state !== outputs[i]);
    if (wrong >= 0) return { word: next.word.slice(0, wrong + 1), tried, shortest, long };
  }
  return { word: null, tried, shortest, long };
};
