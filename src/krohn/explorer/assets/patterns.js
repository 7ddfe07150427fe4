"use strict";
/* A pattern as its minimal automaton: letters, | * + ?, groups, [abc], {m,n}; states in the order of words. */
krohn.Pattern = class {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.moves = [];
    this.letters = new Set();
    const whole = this.either();
    if (this.at < text.length) throw new Error(`“${text[this.at]}” at place ${this.at + 1} is not expected.`);
    [this.start, this.end] = whole;
    if (!this.letters.size) throw new Error("A pattern must have a letter.");
  }

  state() {
    if (this.moves.length > 4000) throw new Error("This pattern is too large for the page.");
    this.moves.push({ free: [] });
    return this.moves.length - 1;
  }

  either() {
    let found = this.chain();
    while (this.text[this.at] === "|") {
      this.at++;
      const [one, other] = [found, this.chain()];
      found = [this.state(), this.state()];
      this.moves[found[0]].free.push(one[0], other[0]);
      this.moves[one[1]].free.push(found[1]);
      this.moves[other[1]].free.push(found[1]);
    }
    return found;
  }

  chain() {
    const first = this.state();
    let end = first;
    while (this.at < this.text.length && !"|)".includes(this.text[this.at])) {
      const [from, to] = this.repeated();
      this.moves[end].free.push(from);
      end = to;
    }
    return [first, end];
  }

  repeated() {
    const begin = this.at;
    let found = this.single();
    for (;;) {
      const sign = this.text[this.at];
      const times = /^\{(\d+)(,(\d*))?\}/.exec(this.text.slice(this.at));
      if (sign === "*" || sign === "+" || sign === "?") {
        this.at++;
        found = this.loop(found, sign !== "+", sign !== "?");
      } else if (times) {
        const [least, most] = [Number(times[1]), times[2] === undefined ? Number(times[1]) : times[3] === "" ? null : Number(times[3])];
        if (least > 50 || (most !== null && (most > 50 || most < least))) throw new Error("A part may be repeated at most 50 times.");
        const after = this.at + times[0].length;
        found = this.times(begin, least, most);
        this.at = after;
      } else return found;
    }
  }

  /* The part between `begin` and here again, `least` to `most` times. */
  times(begin, least, most) {
    const end = this.at;
    const first = this.state();
    let last = first;
    for (let number = 0; number < (most === null ? least + 1 : most); number++) {
      this.at = begin;
      let part = this.single();
      while (this.at < end) {
        const sign = this.text[this.at++];
        if (sign === "{") throw new Error("Put a group around what is repeated twice: (a{2}){3}.");
        part = this.loop(part, sign !== "+", sign !== "?");
      }
      if (number >= least) part = this.loop(part, true, most === null);
      this.moves[last].free.push(part[0]);
      last = part[1];
    }
    return [first, last];
  }

  loop([from, to], skip, again) {
    const found = [this.state(), this.state()];
    this.moves[found[0]].free.push(from);
    this.moves[to].free.push(found[1]);
    if (skip) this.moves[found[0]].free.push(found[1]);
    if (again) this.moves[to].free.push(from);
    return found;
  }

  single() {
    const sign = this.text[this.at++];
    if (sign === "(") {
      const found = this.either();
      if (this.text[this.at++] !== ")") throw new Error("A group is not closed.");
      return found;
    }
    let signs = sign === "\\" ? this.text[this.at++] : sign;
    // What a backslash makes of a letter or digit is a set, or no sign of its own; the board has room for few letters.
    if (sign === "\\" && /^[A-Za-z0-9]/.test(signs || "")) throw new Error(`“\\${signs}” is not read here; write letters out: [abc].`);
    if (sign === "[") {
      const close = this.text.indexOf("]", this.at);
      signs = this.text.slice(this.at, close);
      if (close < 0 || !signs || /[\^\\-]/.test(signs)) throw new Error("A set must be written out: [abc].");
      this.at = close + 1;
    } else if (signs === undefined || (sign !== "\\" && ")|*+?{}].^$ ".includes(sign))) throw new Error(`“${sign || "the end"}” is not expected here.`);
    const found = [this.state(), this.state()];
    for (const letter of signs) {
      this.letters.add(letter);
      (this.moves[found[0]][`=${letter}`] ||= []).push(found[1]);
    }
    return found;
  }

  closed(states) {
    const found = new Set(states);
    for (const state of found) for (const target of this.moves[state].free) found.add(target);
    return [...found].sort((a, b) => a - b);
  }

  /* The sets of states that words lead to, then joined where no word tells them apart. */
  automaton() {
    const letters = [...this.letters].sort();
    const sets = [this.closed([this.start])];
    const number = new Map([[sets[0].join(), 0]]);
    const table = [];
    for (const set of sets) {
      table.push(
        letters.map((letter) => {
          const after = this.closed(set.flatMap((state) => this.moves[state][`=${letter}`] || []));
          if (!number.has(after.join())) {
            number.set(after.join(), sets.length);
            sets.push(after);
            if (sets.length > 2000) throw new Error("This pattern needs too many states for the page.");
          }
          return number.get(after.join());
        }),
      );
    }
    let kind = sets.map((set) => (set.includes(this.end) ? 1 : 0));
    for (let count = 0; ; ) {
      const seen = new Map();
      const next = table.map((row, state) => {
        const key = [kind[state], ...row.map((target) => kind[target])].join();
        if (!seen.has(key)) seen.set(key, seen.size);
        return seen.get(key);
      });
      kind = next;
      if (seen.size === count) break;
      count = seen.size;
    }
    const order = [0];
    for (const state of order) for (const target of table[state]) if (!order.some((other) => kind[other] === kind[target])) order.push(target);
    const place = (state) => order.findIndex((other) => kind[other] === kind[state]);
    return {
      letters,
      table: order.map((state) => table[state].map(place)),
      accept: order.flatMap((state, index) => (sets[state].includes(this.end) ? [index] : [])),
    };
  }
};
