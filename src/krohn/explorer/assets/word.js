"use strict";
/* The word: its letters with the states after them, the alphabet, and what is typed. */
krohn.Word = class {
  constructor(explorer) {
    this.explorer = explorer;
    const { letters } = explorer.machine.automaton;
    krohn.fill(
      "alphabet",
      ...letters.map((letter, index) =>
        krohn.make(
          "button",
          { type: "button", class: "letter", "aria-label": `Add the letter ${letter}`, on: { click: () => explorer.append(index) } },
          letter,
        ),
      ),
    );
    const [one, two] = [letters[0], letters[letters.length - 1]];
    krohn.find("typed").placeholder = this.isPlain() ? `${one}${two}${one}` : `${one} ${two} ${one}`;
    this.note("");
  }

  /* Whether letters need no spaces between them. */
  isPlain() {
    return this.explorer.machine.automaton.letters.every((letter) => [...letter].length === 1);
  }

  /* The letters of a text, or a message about the first that is none. */
  read(text) {
    const { letters } = this.explorer.machine.automaton;
    const spaced = text.trim().split(/[\s]+/).filter(Boolean);
    const parts = this.isPlain() ? spaced.flatMap((part) => [...part]) : spaced;
    const longest = this.explorer.network.length;
    if (parts.length > longest) return { problem: `A word may have at most ${longest} letters here; this one has ${parts.length}.` };
    const word = parts.map((part) => letters.indexOf(part));
    const wrong = word.indexOf(-1);
    if (wrong >= 0) {
      const known = letters.slice(0, 12).join(this.isPlain() ? "" : " ") + (letters.length > 12 ? " …" : "");
      return { problem: `“${parts[wrong].slice(0, 20)}” is not a letter. The letters are ${known}` };
    }
    return { word };
  }

  written(word) {
    return word.map((letter) => this.explorer.machine.automaton.letters[letter]).join(this.isPlain() ? "" : " ");
  }

  note(text) {
    krohn.find("typed-note").textContent = text;
    krohn.find("typed").setAttribute("aria-invalid", text ? "true" : "false");
  }

  /* All letters anew, or those from a place on; `show` then marks the current one. */
  draw(from) {
    const { word } = this.explorer;
    const list = krohn.find("letters");
    if (from === 0) {
      this.cells = [];
      const empty = krohn.make("li", { class: "empty" }, "Click letters, type, or press Play.");
      krohn.fill(list, ...(word.length ? [] : [empty]));
    }
    for (let index = this.cells.length; index < word.length; index++) {
      this.cells.push(this.cell(index));
      list.append(this.cells[index]);
    }
    if (document.activeElement !== krohn.find("typed")) {
      krohn.find("typed").value = this.written(word);
      this.note("");
    }
  }

  cell(index) {
    const { word, truth, trace, machine, colours, learned } = this.explorer;
    const { letters, states } = machine.automaton;
    const wrong = trace.outputs[index] !== truth[index];
    const [letter, state] = [letters[word[index]], states[trace.outputs[index]]];
    const taught = learned ? `; trained: ${states[learned[index]]}${learned[index] === truth[index] ? "" : ", wrong"}` : "";
    const label = `Letter ${index + 1}, ${letter}: state ${state}${wrong ? `, wrong, it must be ${states[truth[index]]}` : ""}${taught}`;
    return krohn.make(
      "li",
      { class: wrong ? "wrong" : null },
      krohn.make(
        "button",
        { type: "button", "aria-label": label, tabindex: -1, on: { click: () => this.explorer.go(index + 1) } },
        krohn.make("span", { class: "sign" }, letter),
        krohn.make("span", { class: "after", style: colours[trace.outputs[index]] }, state),
        learned ? krohn.make("span", { class: learned[index] === truth[index] ? "learned" : "learned wrong", style: colours[learned[index]] }, states[learned[index]]) : null,
      ),
    );
  }

  show(cursor) {
    for (const [index, cell] of this.cells.entries()) {
      cell.classList.toggle("current", index === cursor - 1);
      cell.classList.toggle("later", index >= cursor);
      cell.firstChild.setAttribute("aria-current", index === cursor - 1 ? "step" : "false");
    }
    const here = this.cells[cursor - 1];
    const list = krohn.find("letters");
    if (here && list.scrollHeight > list.clientHeight) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2;
  }
};
