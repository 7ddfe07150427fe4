"use strict";
/* Small helpers: elements, numbers as people write them, and one colour per state on the whole page. */
krohn.find = (id) => document.getElementById(id);

krohn.make = function (tag, attributes, ...children) {
  const node = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};

krohn.fill = function (target, ...children) {
  const node = typeof target === "string" ? krohn.find(target) : target;
  node.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
  return node;
};

/* Scrolls this page alone: scrollIntoView would also scroll a page that shows this one in a frame. */
krohn.reveal = function (node, behavior = "auto") {
  const margin = parseFloat(getComputedStyle(node).scrollMarginTop) || 0;
  scrollTo({ top: node.getBoundingClientRect().top + scrollY - margin, behavior });
};

/* Integers as integers, nearly integers too, and large numbers in short. */
krohn.text = function (value) {
  if (typeof value !== "number") return value === null || value === undefined ? "" : String(value);
  const nearest = Math.round(value);
  if (Math.abs(value - nearest) < 1e-3) return Math.abs(nearest) < 1e6 ? (nearest || 0).toLocaleString("en") : short(value);
  return Math.abs(value) < 1000 ? value.toFixed(2) : short(value);
  function short(number) {
    const [digits, power] = number.toExponential(1).split("e");
    return `${digits}·10${krohn.raised(Number(power))}`;
  }
};

krohn.raised = (number) => String(number).replace(/[-\d]/g, (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]));

/* A hue for each state; a state that no letter leaves, while others exist, is grey. */
krohn.paint = function (automaton) {
  const count = automaton.states.length;
  const stays = automaton.table.map((row, state) => row.every((target) => target === state));
  const sinks = stays.filter(Boolean).length;
  return automaton.states.map((_, state) => {
    const grey = sinks === 1 && stays[state] && state !== automaton.start && count > 2;
    return `--h:${Math.round((360 * state) / count + 235) % 360};--c:${grey ? 0 : 0.105 + 0.03 * (state % 2)}`;
  });
};
