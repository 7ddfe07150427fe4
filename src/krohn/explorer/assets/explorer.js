"use strict";
/* The page as a whole: one machine, one word, one cursor; every part shows the same position. */
krohn.Explorer = class {
  constructor(machine) {
    this.machine = machine;
    this.network = new krohn.Network(machine.network);
    this.colours = krohn.paint(machine.automaton);
    this.cursor = 0;
    this.word = [];
    this.timer = null;
    krohn.showFacts(machine);
    this.diagram = new krohn.Diagram(machine, this.colours, (state) => this.towards(state));
    this.trained = new krohn.Trained(this);
    this.letters = new krohn.Word(this);
    this.score = new krohn.Score(this);
    this.inside = new krohn.Inside(this);
    this.breaking = new krohn.Breaking(this);
    this.roll = krohn.dice(7);
    const length = Math.min(12, this.network.length);
    this.setWord(this.randomWord(length), Math.min(5, length));
    if (machine.built) this.tryWords();
  }

  /* A network that was built here is run on words, as no one has proved it. */
  async tryWords() {
    const { machine } = this;
    const found = await krohn.firstWrong(new krohn.Network(machine.network), machine.automaton, () => krohn.current !== this);
    if (!found || krohn.current !== this) return;
    machine.tried = found.word ? ", and wrong on some word" : `; right on all words of up to ${found.shortest} letters and ${found.long} random ones of ${this.network.length}`;
    krohn.showSeal(machine, this.breaking.isChanged());
  }

  /* Random letters from a state on; a letter into a state that no letter leaves is taken only if all do. */
  randomWord(length, state = this.machine.automaton.start) {
    const { table } = this.machine.automaton;
    return Array.from({ length }, () => {
      const ways = [...table[state].keys()].filter((letter) => !this.isSink(table[state][letter]));
      const letters = ways.length ? ways : [...table[state].keys()];
      const letter = letters[Math.floor(this.roll() * letters.length)];
      state = table[state][letter];
      return letter;
    });
  }

  isSink(state) {
    const { table } = this.machine.automaton;
    return table[state].every((target) => target === state) && table.length > 2;
  }

  setWord(word, cursor) {
    const before = this.word;
    this.word = word.slice(0, this.network.length);
    this.cursor = Math.max(0, Math.min(cursor, this.word.length));
    const grown = before.length && before.every((letter, index) => letter === this.word[index]);
    this.rerun(grown ? before.length : 0);
  }

  /* Runs the word; what was shown up to `from` stays, for no position sees a later one. */
  rerun(from = 0) {
    this.trace = this.network.run(this.word, true);
    this.truth = krohn.simulate(this.machine.automaton, this.word);
    this.learned = this.trained.outputs(this.word);
    this.letters.draw(from);
    this.score.draw(from);
    this.show();
  }

  append(letter) {
    this.stop();
    if (this.word.length >= this.network.length) return this.letters.note(`This network reads at most ${this.network.length} letters.`);
    this.setWord([...this.word, letter], this.word.length + 1);
    this.announce();
  }

  remove() {
    this.setWord(this.word.slice(0, -1), Math.min(this.cursor, this.word.length - 1));
    this.announce();
  }

  end() {
    return this.word.length ? this.truth[this.word.length - 1] : this.machine.automaton.start;
  }

  /* A click on a state adds the shortest word that leads there from the current end. */
  towards(goal) {
    const { table } = this.machine.automaton;
    const from = this.end();
    const ways = new Map([[from, []]]);
    for (const [state, way] of ways) {
      if (state === goal && way.length) break;
      for (const [letter, target] of table[state].entries()) if (!ways.has(target)) ways.set(target, [...way, letter]);
    }
    const way = goal === from ? [table[from].indexOf(from)].filter((letter) => letter >= 0) : ways.get(goal) || [];
    if (!way.length) return;
    this.setWord([...this.word, ...way], this.word.length + way.length);
    this.announce();
  }

  go(cursor) {
    this.cursor = Math.max(0, Math.min(cursor, this.word.length));
    this.show();
    if (!this.timer) this.announce();
  }

  show() {
    const { automaton } = this.machine;
    const at = (count) => (count === 0 ? automaton.start : this.truth[count - 1]);
    const letter = this.cursor ? automaton.letters[this.word[this.cursor - 1]] : null;
    this.diagram.show(at(Math.max(0, this.cursor - 1)), at(this.cursor), letter);
    this.letters.show(this.cursor);
    this.score.show(this.cursor);
    this.inside.show(this.cursor);
    if (this.scene) this.scene.show(at(this.cursor));
    krohn.noteLink();
  }

  /* A word that something else on the page found: shown at its last letter, and scrolled to. */
  present(word) {
    this.stop();
    this.setWord(word, word.length);
    krohn.reveal(krohn.find("word"), krohn.pace());
    this.announce();
  }

  announce() {
    const { letters, states } = this.machine.automaton;
    const [got, must] = [this.trace.outputs[this.cursor - 1], this.truth[this.cursor - 1]];
    const says = this.cursor ? krohn.matches(this.machine, got) : "";
    krohn.find("live").textContent = this.cursor
      ? `Letter ${this.cursor} of ${this.word.length}: ${letters[this.word[this.cursor - 1]]}. State ${states[got]}, ${got === must ? "right" : `wrong, it must be ${states[must]}`}.${says ? ` ${says[0].toUpperCase()}${says.slice(1)}.` : ""}`
      : `At the beginning. Start state ${states[this.machine.automaton.start]}.`;
  }

  toggle() {
    if (this.timer) return this.stop();
    if (this.cursor === this.word.length && this.word.length >= this.network.length) this.setWord([], 0);
    this.goal = Infinity;
    this.begin();
  }

  begin() {
    krohn.find("play").textContent = "Pause";
    krohn.find("play").setAttribute("aria-pressed", "true");
    this.tick();
  }

  /* Up to the letter of that number, one after the other. */
  play(goal) {
    this.stop();
    const missing = goal - this.word.length;
    if (missing > 0) this.setWord([...this.word, ...this.randomWord(missing, this.end())], this.cursor);
    this.goal = Math.min(goal, this.word.length);
    if (krohn.pace() === "auto") return this.go(this.goal);
    this.begin();
  }

  /* One step on; at the end of the word a random letter is added. */
  tick() {
    if (this.cursor >= this.goal) return this.stop();
    if (this.cursor < this.word.length) this.go(this.cursor + 1);
    else if (this.word.length < this.network.length) this.setWord([...this.word, ...this.randomWord(1, this.end())], this.word.length + 1);
    else return this.stop();
    this.timer = setTimeout(() => this.tick(), 1200 / Number(krohn.find("speed").value));
  }

  stop() {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = null;
    krohn.find("play").textContent = "Play";
    krohn.find("play").setAttribute("aria-pressed", "false");
    this.announce();
  }
};

krohn.onKey = function (event) {
  const explorer = krohn.current;
  const busy = event.target.closest("input, select, textarea, summary, #results, #draw, #story");
  if (!explorer || busy || event.ctrlKey || event.metaKey || event.altKey) return;
  const onButton = event.target.closest("button, a");
  const act = {
    ArrowLeft: () => explorer.go(explorer.cursor - 1),
    ArrowRight: () => explorer.go(explorer.cursor + 1),
    Home: () => explorer.go(0),
    End: () => explorer.go(explorer.word.length),
    Backspace: () => explorer.remove(),
    " ": onButton ? null : () => explorer.toggle(),
  }[event.key];
  const { letters } = explorer.machine.automaton;
  const digit = /^[1-9]$/.test(event.key) ? Number(event.key) - 1 : -1;
  const named = letters.indexOf(event.key);
  const letter = named >= 0 ? named : digit < letters.length ? digit : -1;
  if (act) act();
  else if (letter >= 0) explorer.append(letter);
  else return;
  event.preventDefault();
};

krohn.pace = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");

krohn.open = function (machine) {
  krohn.find("notice").hidden = true;
  if (krohn.current) krohn.current.stop();
  krohn.current = new krohn.Explorer(machine);
  for (const button of krohn.find("machines").children) {
    button.setAttribute("aria-current", button.dataset.name === machine.name ? "true" : "false");
  }
};

krohn.pick = (machine) =>
  krohn.make("button", { type: "button", class: "pick", "data-name": machine.name, on: { click: () => krohn.open(machine) } }, machine.name);

/* A card of the gallery: the diagram in small, the name, the size. */
krohn.card = function (machine) {
  const button = krohn.pick(machine);
  button.className = "card";
  const size = Object.fromEntries(machine.sizes.rows.map((row) => [row.name, row.built]));
  const colours = krohn.paint(machine.automaton);
  const picture = krohn.make("span", { class: "thumb", "aria-hidden": "true" });
  if (machine.diagram) {
    const svg = document.importNode(new DOMParser().parseFromString(machine.diagram, "image/svg+xml").documentElement, true);
    for (const part of svg.querySelectorAll("title, text.note, line, rect.paper")) part.remove();
    for (const circle of svg.querySelectorAll("circle.state")) circle.setAttribute("style", colours[circle.dataset.state]);
    picture.append(svg);
  } else {
    picture.classList.add("dots");
    picture.append(...colours.map((colour) => krohn.make("i", { style: colour })));
  }
  const facts = `${machine.automaton.states.length} states · ${size.depth} ${size.depth === 1 ? "layer" : "layers"} · words up to ${machine.network.length} letters`;
  krohn.fill(button, picture, krohn.make("b", {}, machine.name), krohn.make("span", { class: "note" }, facts));
  button.addEventListener("click", () => krohn.reveal(krohn.find("name")));
  return button;
};

krohn.wire = function () {
  const on = (id, act) => krohn.find(id).addEventListener("click", () => act(krohn.current));
  on("first", (explorer) => explorer.go(0));
  on("back", (explorer) => explorer.go(explorer.cursor - 1));
  on("forward", (explorer) => explorer.go(explorer.cursor + 1));
  on("play", (explorer) => explorer.toggle());
  on("clear", (explorer) => explorer.setWord([], 0));
  on("random", (explorer) => {
    explorer.stop();
    explorer.setWord(explorer.randomWord(Math.min(20, explorer.network.length)), 0);
  });
  krohn.find("typed").addEventListener("input", () => {
    const { letters } = krohn.current;
    const read = letters.read(krohn.find("typed").value);
    letters.note(read.problem || "");
    if (!read.word) return;
    krohn.current.stop();
    krohn.current.setWord(read.word, read.word.length);
    krohn.current.announce();
  });
  krohn.find("type").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", krohn.onKey);
  krohn.find("copy").hidden = location.protocol === "about:";
  on("copy", () => krohn.copyLink());
  krohn.wireTheme();
};

/* Light and dark follow the system until the button says otherwise. */
krohn.wireTheme = function () {
  const button = krohn.find("theme");
  const dark = () =>
    document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
  const draw = () => (button.textContent = dark() ? "☀ Light" : "☾ Dark");
  const kept = (() => {
    try {
      return localStorage.getItem("krohn-theme");
    } catch {
      return null;
    }
  })();
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("krohn-theme", document.documentElement.dataset.theme);
    } catch {
      /* a page from a file may have no storage: the choice then lasts as long as the page */
    }
    draw();
  });
  draw();
};

krohn.begin = function () {
  const data = JSON.parse(krohn.find("data").textContent);
  krohn.wire();
  const choices = krohn.find("machines");
  choices.hidden = data.machines.length < 2;
  choices.className = data.gallery ? "gallery" : "";
  krohn.find("explorer").classList.toggle("with-gallery", Boolean(data.gallery));
  krohn.find("gallery-head").hidden = !data.gallery;
  krohn.find("gallery-title").textContent = `The ${data.machines.length} automata of the paper`;
  const choice = data.gallery ? krohn.card : krohn.pick;
  krohn.fill(choices, ...data.machines.map((machine) => choice(machine)));
  const add = (machine) => {
    choices.hidden = false;
    for (const button of [...choices.children]) if (button.dataset.name === machine.name) button.remove();
    choices.prepend(choice(machine));
    krohn.open(machine);
  };
  const draw = new krohn.Draw(add);
  krohn.story = new krohn.Story();
  const link = krohn.readLink(location.hash);
  const known = link && !link.drawing && !link.told && data.machines.find((machine) => machine.name === link.name);
  if (data.machines.length) krohn.open(known || data.machines[0]);
  if (data.results) krohn.showViews(data);
  const show = async (wanted, scroll) => {
    const found = await krohn.follow(wanted, data.machines, draw);
    if (found && scroll) krohn.reveal(krohn.find("name"));
  };
  if (known) krohn.restore(link);
  else show(link, true);
  if (known && data.gallery) krohn.reveal(krohn.find("name"));
  addEventListener("hashchange", () => show(krohn.readLink(location.hash), true));
};

krohn.begin();
