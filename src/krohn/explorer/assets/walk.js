"use strict";
/* A walk of five stops through the page; it can be left at any time, by its button or by Escape. */
krohn.STOPS = [
  ["word", "1. A word", (m) => `${m.about} Each box is a letter; below it stands the state after that letter. Press Play, or click a letter to add it.`],
  ["algebra-panel", "2. The algebra", (m) => `What must be remembered? Algebra takes the automaton apart into counters and memories, and the compiler gives each of them a head and a small table: ${m.network.shape.length} ${m.network.shape.length === 1 ? "layer" : "layers"} here.`],
  ["inside-panel", "3. Layer by layer", () => "One column for each position. Heads look back (the darker, the more), and each row below holds a number that the network works out on the way to the state."],
  ["proof-panel", "4. The proof", (m) => (m.certificate && m.certificate.certified ? `The network was not trained, and not only tested: it is proved right on every word of up to ${m.network.length} letters, rounding included.` : "This network has no certificate.")],
  ["break", "5. Break it", () => "Every weight has a reason. Choose Any weight: the page changes it and looks for a word that now comes out wrong. Mend it brings the proved weights back."],
];

krohn.Walk = class {
  constructor() {
    this.at = -1;
    const button = (text, act, kind) => krohn.make("button", { type: "button", class: kind, on: { click: act } }, text);
    this.back = button("Back", () => this.go(this.at - 1));
    this.next = button("Next", () => this.go(this.at + 1), "main");
    this.title = krohn.make("h2", { id: "walk-title" });
    this.text = krohn.make("p", {});
    const row = krohn.make("p", { class: "buttons" }, this.back, this.next, button("Leave the walk", () => this.leave(), "quiet"));
    this.panel = krohn.fill("walk", this.title, this.text, row);
    krohn.find("walk-begin").addEventListener("click", () => this.go(0));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.at >= 0) this.leave();
    });
  }

  go(at) {
    if (at >= krohn.STOPS.length) return this.leave();
    this.mark(false);
    this.at = Math.max(0, at);
    const [, title, text] = krohn.STOPS[this.at];
    this.title.textContent = title;
    this.text.textContent = text(krohn.current.machine);
    this.back.disabled = this.at === 0;
    this.next.textContent = this.at === krohn.STOPS.length - 1 ? "Done" : "Next";
    this.panel.hidden = false;
    this.mark(true);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.section().scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
    this.next.focus({ preventScroll: true });
  }

  section() {
    return krohn.find(krohn.STOPS[this.at][0]);
  }

  mark(on) {
    if (this.at >= 0) this.section().classList.toggle("stop", on);
  }

  leave() {
    this.mark(false);
    this.at = -1;
    this.panel.hidden = true;
    krohn.find("walk-begin").focus();
  }
};
