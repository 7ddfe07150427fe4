"use strict";
/* A story in five steps, sentence by sentence: a lamp, a clock, four people who change chairs, five who cannot be
   taken apart, and a weight that is broken. Its box stands in the page above what it speaks of and covers nothing. */
krohn.STORY = [
  {
    title: "A lamp",
    machine: "lamp",
    scene: "lamp",
    says: [
      ["word", "A switch and a lamp: the letter 1 presses the switch, 0 leaves it. Is the lamp on?", (e) => e.setWord(e.letters.read("1011011").word, 0)],
      ["word", "The automaton looks at one letter after the other and remembers one thing: even or odd.", (e) => e.play(4)],
      ["inside-panel", "The network reads all letters at once: in one layer a head sweeps back over the word and counts the ones, and a small table keeps only whether they are odd.", (e) => e.play(7)],
    ],
  },
  {
    title: "A clock",
    machine: "clock",
    scene: "clock",
    says: [
      ["word", "A clock of twelve hours, which each 1 moves on by one: the same head counts, and the table has twelve hours instead of two.", (e) => e.setWord(Array(14).fill(1), 0)],
      ["word", "It goes round and round, and still one layer is enough, however long the word.", (e) => e.play(14)],
    ],
  },
  {
    title: "Four people, four chairs",
    machine: "chairs",
    scene: "chairs",
    says: [
      ["word", "Four people on four chairs: each letter tells all of them where to sit next, and now the order of the letters matters.", (e) => e.setWord(e.randomWord(8), 0)],
      ["word", "There are 24 ways to sit, and the network must name the right one after every letter.", (e) => e.play(8)],
      ["algebra-panel", "Algebra takes this group apart into small clocks, one inside the other, and each layer keeps one of them: three layers, however long the word.", null],
    ],
  },
  {
    title: "Five people: why depth must grow",
    machine: "five8",
    scene: "chairs",
    says: [
      ["word", "Five people, and only exchanges of an even kind: this is A5, the smallest group that cannot be taken apart.", (e) => e.setWord(e.randomWord(8), 0)],
      ["inside-panel", "So the layers join neighbours, then pairs, then fours: for words of 8 letters that takes 3 layers.", (e) => e.play(8)],
      ["inside-panel", "For 16 letters it takes 4, and every doubling one more. If a fixed number were enough for all lengths, two classes of circuits that are believed to differ would be the same (TC⁰ and NC¹).", (e) => e.play(16), "five16"],
    ],
  },
  {
    title: "Break it",
    machine: "chairs",
    scene: "chairs",
    says: [
      ["proof-panel", "The network of the four chairs was not trained: its weights were written down, and proved right on every word.", null],
      ["break", "Move a single weight, and the proof is gone; the page looks for a word that now comes out wrong.", (e) => e.breaking.breakOne()],
      ["word", "Here it is: two states no longer agree. Mend it, and it is right again on all words.", async (e) => ((await e.breaking.searching), e.breaking.wrong && e.setWord(e.breaking.wrong, e.breaking.wrong.length))],
    ],
  },
];

krohn.Story = class {
  constructor() {
    this.step = -1;
    this.said = 0;
    const button = (text, act, kind) => krohn.make("button", { type: "button", class: kind, on: { click: act } }, text);
    this.back = button("Back", () => this.goBack());
    this.next = button("Next", () => this.on(), "main");
    this.next.id = "story-next";
    this.title = krohn.make("h2", { id: "story-title" });
    this.scene = krohn.make("div", { class: "scene", "aria-hidden": "true" });
    this.text = krohn.make("div", { id: "story-text", "aria-live": "polite" });
    this.leaving = button("Leave the story", () => this.leave(), "quiet");
    krohn.fill("story-begin", "The story", krohn.make("span", { class: "steps" }, ` in ${krohn.STORY.length} steps`));
    this.panel = krohn.fill("story", this.title, this.scene, this.text, krohn.make("p", { class: "buttons" }, this.back, this.next, this.leaving));
    krohn.find("story-begin").addEventListener("click", () => this.go(0));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.step >= 0) this.leave();
    });
  }

  async go(step) {
    this.step = step;
    this.said = 0;
    this.panel.hidden = false;
    this.title.textContent = `${this.step + 1} of ${krohn.STORY.length}: ${krohn.STORY[this.step].title}`;
    await this.say();
  }

  /* To `step.sentence` of a link; false if there is none. */
  async follow(place) {
    const [step, sentence] = place.split(".").map(Number);
    const told = krohn.STORY[step - 1];
    if (!told || !(sentence >= 1 && sentence <= told.says.length)) return false;
    await this.go(step - 1);
    while (this.said < sentence) await this.say();
    return true;
  }

  /* To the sentence before, or to the beginning of the step before. */
  async goBack() {
    if (this.said === 1) return this.go(this.step - 1);
    this.said -= 2;
    await this.say();
  }

  /* The next sentence, or the next step. */
  async on() {
    if (this.said < krohn.STORY[this.step].says.length) return this.say();
    if (this.step + 1 < krohn.STORY.length) return this.go(this.step + 1);
    this.leave();
  }

  async say() {
    const { says, machine, scene } = krohn.STORY[this.step];
    const [place, text, act, other] = says[this.said];
    const wanted = await krohn.toldMachine(other || machine);
    if (this.said === 0 || other) krohn.open(wanted);
    krohn.current.scene = new krohn.Scene(scene, this.scene, krohn.current);
    this.said++;
    const last = this.said === says.length;
    this.next.textContent = !last ? "Next" : this.step + 1 < krohn.STORY.length ? "Go on" : "Done";
    this.back.disabled = this.step === 0 && this.said === 1;
    krohn.fill(this.text, krohn.make("p", {}, text));
    const section = krohn.find(place);
    this.mark(section);
    // Where two panels stand side by side the box goes above both.
    (innerWidth > 860 ? section.closest(".pair") || section : section).before(this.panel);
    if (act) await act(krohn.current);
    krohn.current.show();
    krohn.reveal(this.panel, krohn.pace());
    this.next.focus({ preventScroll: true });
  }

  mark(section) {
    for (const before of document.querySelectorAll(".told")) before.classList.remove("told");
    if (section) section.classList.add("told");
  }

  leave() {
    this.step = -1;
    this.mark(null);
    this.panel.hidden = true;
    if (krohn.current) krohn.current.scene = null;
    krohn.noteLink();
    krohn.find("story-begin").focus();
  }
};

/* A machine of the story, which knows that it is one: a link to it says so. */
krohn.toldMachine = async function (name) {
  const machine = (await krohn.unpacked("stories"))[name];
  if (machine) machine.told = name;
  return machine;
};

/* The state as a thing that people know: a lamp, a clock, people on chairs. */
krohn.Scene = class {
  constructor(kind, host, explorer) {
    this.kind = kind;
    this.explorer = explorer;
    const { states } = explorer.machine.automaton;
    const svg = krohn.make("svg:svg", { viewBox: kind === "chairs" ? "0 0 320 96" : "0 0 160 120" });
    const draw = { lamp: () => this.lamp(), clock: () => this.clock(states.length), chairs: () => this.chairs([...states[0]].length) }[kind];
    svg.append(...draw());
    krohn.fill(host, svg);
  }

  lamp() {
    this.bulb = krohn.make("svg:circle", { cx: 80, cy: 50, r: 30, class: "bulb" });
    return [this.bulb, krohn.make("svg:rect", { x: 68, y: 82, width: 24, height: 16, rx: 4, class: "socket" })];
  }

  clock(count) {
    const at = (hour, reach) => [80 + reach * Math.sin((2 * Math.PI * hour) / count), 60 - reach * Math.cos((2 * Math.PI * hour) / count)];
    const hours = Array.from({ length: count }, (_, hour) => {
      const [x, y] = at(hour, 42);
      return krohn.make("svg:text", { x, y, dy: "0.35em", "text-anchor": "middle", "font-size": 10 }, String(hour));
    });
    this.hand = krohn.make("svg:line", { x1: 80, y1: 60, x2: 80, y2: 28, class: "hand" });
    return [krohn.make("svg:circle", { cx: 80, cy: 60, r: 54, class: "face" }), ...hours, this.hand];
  }

  chairs(count) {
    const gap = 320 / count;
    this.gap = gap;
    const chairs = Array.from({ length: count }, (_, chair) => krohn.make("svg:rect", { x: gap * (chair + 0.5) - 20, y: 74, width: 40, height: 10, rx: 4, class: "socket" }));
    this.people = Array.from({ length: count }, (_, person) => {
      const style = `--h:${Math.round((360 * person) / count + 20) % 360};--c:.13`;
      return krohn.make("svg:g", { class: "person" }, krohn.make("svg:circle", { cy: 48, r: 20, style }), krohn.make("svg:text", { y: 48, dy: "0.35em", "text-anchor": "middle", "font-size": 17 }, "ABCDE"[person]));
    });
    return [...chairs, ...this.people];
  }

  show(state) {
    const name = this.explorer.machine.automaton.states[state];
    if (this.kind === "lamp") this.bulb.classList.toggle("on", state === 1);
    else if (this.kind === "clock") {
      const turned = this.turned ?? state;
      const count = this.explorer.machine.automaton.states.length;
      // On by the shortest way forward, so that twelve comes after eleven.
      this.turned = state >= turned % count ? turned - (turned % count) + state : turned - (turned % count) + count + state;
      this.hand.style.transform = `rotate(${(360 * this.turned) / count}deg)`;
    } else for (const [chair, person] of [...name].entries()) this.people[Number(person)].style.transform = `translateX(${this.gap * (chair + 0.5)}px)`;
  }
};
