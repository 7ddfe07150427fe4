"use strict";
/* Links: automaton, word, position, a changed weight and a drawing, a sentence of the story, or a trained run,
   after the # of the address. */
krohn.readLink = function (hash) {
  const text = hash.replace(/^#/, "");
  if (!text) return null;
  try {
    if (!text.includes("=")) return text === "trained" ? { run: "" } : { name: decodeURIComponent(text) };
    const given = new URLSearchParams(text);
    if (given.has("story")) return { story: given.get("story") };
    if (given.has("trained")) return { run: given.get("trained") };
    return { name: given.get("a"), told: given.get("s"), word: given.get("w"), at: given.get("t"), weight: given.get("b"), drawing: given.get("d") };
  } catch {
    return null;
  }
};

krohn.writeLink = function (explorer) {
  if (!krohn.find("results").hidden) return krohn.results && krohn.results.shown ? `#trained=${krohn.results.shown}` : "#trained";
  if (krohn.story && krohn.story.step >= 0) return `#story=${krohn.story.step + 1}.${krohn.story.said}`;
  const { machine, word, cursor, breaking, letters } = explorer;
  const given = new URLSearchParams({ a: machine.name });
  if (machine.drawing) given.set("d", machine.drawing);
  if (machine.told) given.set("s", machine.told);
  if (word.length) given.set("w", letters.written(word));
  given.set("t", cursor);
  if (breaking.isChanged()) given.set("b", breaking.written());
  return `#${given}`;
};

/* Keeps the address in step; not more often than browsers allow. */
krohn.noteLink = function () {
  clearTimeout(krohn.linkTimer);
  krohn.linkTimer = setTimeout(() => {
    if ((!krohn.current && !krohn.results) || location.protocol === "about:") return;
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

/* Shows what a link says, and says so where it names what the page does not have. */
krohn.follow = async function (link, machines, draw) {
  if (!link || (link.name && krohn.find(link.name))) return false; // none, or a part of the page
  if (link.run !== undefined) return krohn.openView ? krohn.openView("results", link.run) : krohn.unknown("trained networks");
  if (krohn.openView && machines.length) krohn.openView("explorer");
  if (link.story !== undefined) return (await krohn.story.follow(link.story)) || krohn.unknown(`place ${link.story} of the story`);
  if (!link.name) return krohn.unknown("no automaton");
  let machine = link.drawing ? null : link.told ? await krohn.toldMachine(link.told) : machines.find((each) => each.name === link.name);
  machine ||= link.drawing ? await draw.fromLink(link.drawing, link.name) : link.name.startsWith("regex:") ? await draw.fromPattern(link.name.slice(6)) : null;
  if (!machine) return krohn.unknown(link.name);
  krohn.open(machine);
  krohn.restore(link);
  return true;
};

krohn.unknown = function (what) {
  const shown = krohn.current ? `; it shows ${krohn.current.machine.name}` : "";
  krohn.fill("notice", `The link names ${what.slice(0, 60)}, which this page does not have${shown}.`).hidden = false;
  return false;
};

krohn.restore = function (link) {
  const explorer = krohn.current;
  if (link.word === undefined) return;
  const read = explorer.letters.read(link.word || "");
  if (read.word) explorer.setWord(read.word, Number.parseInt(link.at, 10) || 0);
  else explorer.letters.note(read.problem);
  if (link.weight) explorer.breaking.fromLink(link.weight);
};
