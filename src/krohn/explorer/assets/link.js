"use strict";
/* Links: automaton, word, position, a changed weight and a drawing, after the # of the address. */
krohn.readLink = function (hash) {
  const text = hash.replace(/^#/, "");
  if (!text) return null;
  try {
    if (!text.includes("=")) return { name: decodeURIComponent(text) };
    const given = new URLSearchParams(text);
    return { name: given.get("a"), word: given.get("w"), at: given.get("t"), weight: given.get("b"), drawing: given.get("d") };
  } catch {
    return null;
  }
};

krohn.writeLink = function (explorer) {
  const { machine, word, cursor, breaking, letters } = explorer;
  const given = new URLSearchParams({ a: machine.name });
  if (machine.drawing) given.set("d", machine.drawing);
  if (word.length) given.set("w", letters.written(word));
  given.set("t", cursor);
  if (breaking.isChanged()) given.set("b", breaking.written());
  return `#${given}`;
};

/* Keeps the address in step; not more often than browsers allow. */
krohn.noteLink = function () {
  clearTimeout(krohn.linkTimer);
  krohn.linkTimer = setTimeout(() => {
    if (!krohn.current || location.protocol === "about:") return;
    try {
      history.replaceState(null, "", krohn.writeLink(krohn.current));
    } catch {
      /* a page inside another may have no address of its own */
    }
  }, 250);
};

krohn.copyLink = async function () {
  const button = krohn.find("copy");
  const text = location.href.replace(/#.*$/, "") + krohn.writeLink(krohn.current);
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = krohn.make("textarea", { class: "hidden" });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  krohn.copied = text;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy link"), 1500);
};

/* Shows what a link says; a name that no machine has is left alone. */
krohn.follow = async function (link, machines, draw) {
  if (!link || !link.name) return false;
  let machine = link.drawing ? null : machines.find((each) => each.name === link.name);
  machine ||= link.drawing ? await draw.fromLink(link.drawing, link.name) : link.name.startsWith("regex:") ? await draw.fromPattern(link.name.slice(6)) : null;
  if (!machine) return false;
  krohn.open(machine);
  krohn.restore(link);
  return true;
};

krohn.restore = function (link) {
  const explorer = krohn.current;
  if (link.word === undefined) return;
  const read = explorer.letters.read(link.word || "");
  if (read.word) explorer.setWord(read.word, Number.parseInt(link.at, 10) || 0);
  else explorer.letters.note(read.problem);
  if (link.weight) explorer.breaking.fromLink(link.weight);
};
