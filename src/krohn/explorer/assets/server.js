"use strict";
/* With a server behind the page: any name, pattern or file, compiled while you wait, or not if you cancel. */
krohn.MAX_UPLOAD = 1000000;

krohn.Ask = class {
  constructor(add) {
    this.add = add;
    this.waiting = null;
    this.spec = krohn.make("input", { type: "text", id: "spec", placeholder: "S4, Dyck3,2, regex:(a|b)*abb, path/to/file.json or .jff", spellcheck: "false", autocapitalize: "off" });
    this.length = krohn.make("input", { type: "number", id: "longest", min: 1, max: 128, value: 32 });
    this.file = krohn.make("input", { type: "file", id: "file", accept: ".json,.jff,application/json", class: "hidden", on: { change: () => this.upload() } });
    this.go = krohn.make("button", { type: "submit", class: "main" }, "Compile");
    this.cancel = krohn.make("button", { type: "button", disabled: true, on: { click: () => this.stop() } }, "Cancel");
    this.status = krohn.make("p", { id: "ask-status", class: "note", role: "status" });
    const choose = krohn.make("label", { class: "upload", for: "file", tabindex: 0 }, "Upload a file (.json, .jff)", this.file);
    const form = krohn.make(
      "form",
      { class: "ask", autocomplete: "off", on: { submit: (event) => this.submit(event) } },
      krohn.make("label", { for: "spec" }, "Name, pattern or file"),
      this.spec,
      krohn.make("label", { class: "longest", for: "longest" }, "words up to", this.length),
      this.go,
      this.cancel,
      choose,
    );
    krohn.fill("ask", krohn.make("h2", { id: "ask-title" }, "Any automaton"), form, this.status).hidden = false;
  }

  submit(event) {
    event.preventDefault();
    this.send({ spec: this.spec.value, length: Number(this.length.value) });
  }

  async upload() {
    const [file] = this.file.files;
    if (!file) return;
    if (file.size > krohn.MAX_UPLOAD) {
      this.tell(`A file may have at most 1 MB; ${file.name} has ${(file.size / 1e6).toFixed(1)} MB.`, true);
    } else {
      const content = await file.text();
      const jflap = file.name.endsWith(".jff");
      try {
        this.send({ spec: file.name.replace(/\.(json|jff)$/, ""), file: jflap ? content : JSON.parse(content), length: Number(this.length.value) });
      } catch {
        this.tell(`${file.name} is neither JSON nor JFLAP (.jff). Both kinds of automaton files are described in the documentation.`, true);
      }
    }
    this.file.value = "";
  }

  async send(request, then) {
    this.stop();
    const waiting = (this.waiting = new AbortController());
    this.busy(true);
    this.tell("Compiling and certifying …");
    const token = new URLSearchParams(location.search).get("token");
    const headers = { "Content-Type": "application/json", ...(token ? { "X-Krohn-Token": token } : {}) };
    let answer;
    try {
      const reply = await fetch("machine", { method: "POST", headers, body: JSON.stringify(request), signal: waiting.signal });
      answer = await reply.json();
    } catch (problem) {
      answer = { error: problem.name === "AbortError" ? "Cancelled." : "The server does not answer." };
    }
    if (this.waiting !== waiting) return;
    this.waiting = null;
    this.busy(false);
    if (answer.error) return this.tell(answer.error, true);
    this.tell(`${answer.machine.name} is ready.`);
    this.add(answer.machine);
    if (then) then();
  }

  stop() {
    if (!this.waiting) return;
    this.waiting.abort();
    this.waiting = null;
    this.busy(false);
    this.tell("Cancelled.");
  }

  busy(yes) {
    this.go.disabled = yes;
    this.cancel.disabled = !yes;
  }

  tell(text, bad) {
    this.status.textContent = text;
    this.status.className = bad ? "note bad" : "note";
  }
};
