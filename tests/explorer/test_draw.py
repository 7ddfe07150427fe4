"""Draw or type your own: in a browser, without a server."""

import base64
import itertools
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from small_machines import key_of, machine, tables, unpacked

import krohn
from explorer.test_standalone_page import complaints, open_page
from krohn.automata.files import automaton_from_payload
from krohn.automata.reading.arrows import finish
from krohn.automata.reading.jflap import read_jff
from krohn.automata.small import canonical
from krohn.explorer.page_data import small_text
from krohn.network.forward import run
from krohn.network.transformer_file import transformer_from

SMALL = unpacked(small_text())
WORDS = np.array([*itertools.product(range(2), repeat=7)])


def test_the_table_has_every_small_automaton_once_and_each_is_proved() -> None:
    assert list(SMALL) == [key_of(table) for table in tables()]
    for flat in itertools.product(range(3), repeat=6):  # the part that words reach, with either letter first
        assert key_of(canonical(tuple(flat[2 * q : 2 * q + 2] for q in range(3)))) in SMALL
    assert all(each["certificate"]["certified"] for each in SMALL.values())


def test_every_network_of_the_table_computes_its_automaton() -> None:
    for key, each in SMALL.items():
        tensors = {
            name: np.frombuffer(base64.b64decode(t["data"]), dtype="<f8").reshape(t["shape"])
            for name, t in each["network"]["tensors"].items()
        }
        tensors = {n: t.astype(np.int64) if n.endswith(".activation") else t for n, t in tensors.items()}
        network = transformer_from(tensors, each["network"]["shape"])
        truth = krohn.parse_spec(f"table:{key}")
        assert (run(network, WORDS) == krohn.simulate(truth, WORDS)).all(), key


def test_an_entry_of_the_table_is_what_is_built_today() -> None:
    table = ((0, 1), (1, 0))
    assert machine(table) == SMALL[key_of(table)]


LOOK_UP = """
const [tables, done] = arguments;
(async () => {
  const answers = [];
  for (const { table, start, letters } of tables) {
    const places = table.map((_, state) => ({ x: 100 * state, y: 0 }));
    const drawing = { table, start, letters, places, accept: new Set([0]), name: 'drawing' };
    const found = await krohn.lookUp(drawing);
    if (!found) { answers.push('missing'); continue; }
    const network = new krohn.Network(found.network);
    let wrong = 0;
    for (let number = 0; number < 512; number++) {
      const word = Array.from({ length: 9 }, (_, place) => (number >> place) & 1);
      const got = [...network.run(word, false).outputs].map((state) => found.automaton.states[state]);
      let state = start;
      for (const [place, letter] of word.entries()) {
        state = table[state][letter];
        if (got[place] !== `q${state}`) wrong++;
      }
    }
    answers.push([wrong, found.automaton.letters, found.certificate.certified]);
  }
  done(answers);
})();
"""


def test_whatever_small_automaton_is_drawn_runs_with_its_network(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    rng = np.random.default_rng(0)
    pictures = []
    for _ in range(60):
        states = int(rng.integers(1, 4))
        table = rng.integers(states, size=(states, 2)).tolist()
        pictures.append({"table": table, "start": int(rng.integers(states)), "letters": ["x", "y"]})
    for answer in browser.execute_async_script(LOOK_UP, pictures):
        assert answer == [0, ["x", "y"], True]
    large = [{"table": [[1, 2], [2, 3], [3, 0], [0, 1]], "start": 0, "letters": ["a", "b"]}]
    assert browser.execute_async_script(LOOK_UP, large) == ["missing"]


PATTERNS = [
    *("a", "ab", "a*", "(ab)*", "(a|b)*abb", "a+b?", "(a|b)*a(a|b)", "[ab]c*", "a{3}", "(ab){1,2}a"),
    *("a{2,}", "((a|b)(a|b))*", "(aa|bb)*", "a?b?c?", "(a*b)*", "(a|ab)(c|bcd)", "a{0,2}b", "(a|b|c)*cab"),
    *("a*b*a*", "(a+b+)+", "x|y|z", "(0|1)*00", "(a*)*", "(a?){3}", "(a{2}){1,2}", "(a{2})*", "(a*){2}b"),
]


def test_a_typed_pattern_becomes_its_minimal_automaton(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    for pattern in PATTERNS:
        result = browser.execute_script("return new krohn.Pattern(arguments[0]).automaton()", pattern)
        truth = krohn.from_regex(pattern, alphabet=result["letters"])
        assert result["letters"] == list(truth.letter_names), pattern
        assert len(result["table"]) == truth.num_states, pattern
        assert truth.observe is not None
        for length in range(1, 6):
            for word in itertools.product(range(truth.num_letters), repeat=length):
                state = 0
                for letter in word:
                    state = result["table"][state][letter]
                assert (state in result["accept"]) == bool(truth.observe[truth.run(list(word))[-1]]), pattern


@pytest.mark.parametrize(
    "pattern", ["", "(", "a)", "*", "a{60}", "[^a]", "[a", "a|*", "()", "a.b", "a{1}{2}", "\\d", "a\\"]
)
def test_a_typo_in_a_pattern_is_reported(browser: Chrome, pages: Path, pattern: str) -> None:
    open_page(browser, pages)
    browser.execute_script("krohn.find('draw').open = true")
    field = browser.find_element(By.ID, "pattern")
    field.clear()
    field.send_keys(pattern, Keys.ENTER)
    assert browser.find_element(By.ID, "draw-status").text
    assert complaints(browser) == []


def test_clicks_draw_and_the_drawing_runs_and_is_kept(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    saved_before: Any = browser.execute_script(
        """krohn.find('draw').open = true;
        const links = [];
        krohn.kept = links;
        URL.createObjectURL = (blob) => (links.push(blob), 'about:blank#kept');
        HTMLAnchorElement.prototype.click = function () { this.remove(); };
        document.querySelector('.board').scrollIntoView({ block: 'center' });
        const board = document.querySelector('.board');
        const click = (x, y) => {
          const at = new DOMPoint(x, y).matrixTransform(board.getScreenCTM());
          board.dispatchEvent(new MouseEvent('click', { clientX: at.x, clientY: at.y, bubbles: true }));
        };
        click(320, 60);                       // a third state
        const state = (name) => {
          const circle = board.querySelector(`circle.state[data-state='${name}']`);
          return [Number(circle.getAttribute('cx')), Number(circle.getAttribute('cy'))];
        };
        click(...state(0)); click(...state(2)); // a from q0 to q2
        document.querySelectorAll('.pens button')[1].click();
        click(...state(2)); click(...state(1)); // b from q2 to q1
        for (const button of document.querySelectorAll('#draw-body button'))
          if (['JSON', 'JFLAP .jff', 'SVG'].includes(button.textContent)) button.click();
        return [...document.querySelectorAll('.editor select')].map((choice) => choice.value);"""
    )
    assert saved_before == ["2", "0", "0", "1", "2", "1"]
    texts = browser.execute_async_script(
        "Promise.all(krohn.kept.map((blob) => blob.text())).then(arguments[0])"
    )
    as_json = automaton_from_payload(json.loads(texts[0]))
    as_jff = finish(read_jff(texts[1].encode()))
    assert as_json.table.tolist() == [[2, 0], [0, 1], [2, 1]]
    assert as_json.observe == as_jff.observe == (0, 1, 0)
    assert (as_json.table == as_jff.table).all()
    picture = ElementTree.fromstring(texts[2])
    assert len([c for c in picture.iter() if c.get("class") == "state"]) == 3
    field = browser.find_element(By.ID, "try")
    field.send_keys("ab")
    assert browser.find_element(By.ID, "try-says").text == "q0 → q2 → q1: accepted."
    browser.execute_script("krohn.find('show-network').click()")
    browser.execute_async_script("setTimeout(arguments[0], 1500)")
    assert browser.find_element(By.ID, "name").text == "drawing"
    assert "proved right" in browser.find_element(By.ID, "seal").text
    right = browser.execute_script(
        "const { trace, truth } = krohn.current; return truth.every((s, i) => s === trace.outputs[i])"
    )
    assert right
    assert complaints(browser) == []


DRAG = """
krohn.find('draw').open = true;
const board = document.querySelector('.board');
board.scrollIntoView({ block: 'center' });
board.setPointerCapture = () => {};
const place = (state) => {
  const circle = board.querySelector(`circle.state[data-state='${state}']`);
  return [Number(circle.getAttribute('cx')), Number(circle.getAttribute('cy'))];
};
const send = (kind, [x, y]) => {
  const at = new DOMPoint(x, y).matrixTransform(board.getScreenCTM());
  board.dispatchEvent(new PointerEvent(kind, { clientX: at.x, clientY: at.y, bubbles: true }));
};
const before = [place(0), place(1)];
send('pointerdown', before[0]); send('pointermove', [before[0][0] + 2, before[0][1]]);
const trembled = place(0);
for (const step of [10, 40, 80]) send('pointermove', [before[0][0], before[0][1] - step]);
send('pointerup', [before[0][0], before[0][1] - 80]); send('click', [before[0][0], before[0][1] - 80]);
const table = [...document.querySelectorAll('.editor select')].map((choice) => choice.value);
return [before, trembled, [place(0), place(1)], table, board.querySelectorAll('.current').length];
"""


def test_a_state_is_dragged_and_its_arrows_follow(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    before, trembled, after, table, chosen = browser.execute_script(DRAG)
    assert trembled == before[0]
    assert after[1] == before[1]
    assert after[0][0] == pytest.approx(before[0][0], abs=1)
    assert after[0][1] == pytest.approx(max(30, before[0][1] - 80), abs=1)
    assert table == ["1", "0", "0", "1"]  # a drag adds no state and no arrow
    assert chosen == 0
    nearest = browser.execute_script(  # the arrow from the state begins at its circle
        """const start = document.querySelector(".board path.edge[data-from='0'][data-to='1']")
          .getPointAtLength(0);
        return Math.hypot(start.x - arguments[0][0], start.y - arguments[0][1])""",
        after[0],
    )
    assert 20 < nearest < 30
    assert complaints(browser) == []


def test_the_page_says_which_networks_it_holds_and_which_it_builds(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    press = """krohn.find('draw').open = true;
        for (const name of arguments[0])
          [...document.querySelectorAll('#draw-body button')].find((b) => b.textContent === name).click();
        return [krohn.find('draw-offer').textContent, krohn.find('show-network').disabled]"""
    offer, disabled = browser.execute_script(press, [])
    assert (offer, disabled) == (
        "2 states that words reach, 2 letters: this page holds its network and the proof.",
        False,
    )
    offer, disabled = browser.execute_script(press, ["Add a letter"])
    assert "3 letters: this page builds its network, for words of up to 16 letters" in offer
    assert not disabled
    browser.find_element(By.ID, "try").send_keys("cab")
    assert browser.find_element(By.ID, "try-says").text == "q0 → q0 → q1 → q1: accepted."


def test_the_table_alone_suffices_for_the_keyboard(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    browser.execute_script("krohn.find('draw').open = true")
    choice = browser.find_elements(By.CSS_SELECTOR, ".editor select")[0]
    choice.send_keys("q0")
    assert browser.execute_script("return krohn.find('try-says').textContent").startswith("q0")
    word = browser.find_element(By.ID, "try")
    word.send_keys("a")
    assert browser.find_element(By.ID, "try-says").text == "q0 → q0: not accepted."
    assert browser.execute_script("return krohn.current.word.length") == 12  # keys went to the field alone


CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const rgb = (colour) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = (colour) => {
  const part = colour.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
};
const behind = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const colour = rgb(getComputedStyle(at).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return rgb('white');
};
const rules = 'h1, h2, h3, .note, .about, .lead, summary, .score th, .score td, .verdict, .proof dd, '
  + '.letters .sign, .letters .after, .size b, .size em, .part, .pick, button:not(:disabled), .editor th, '
  + 'label';
return [...document.querySelectorAll(rules)].filter((node) => node.offsetParent && node.textContent.trim()
    && !node.closest('.later')).map((node) => {
  const [one, two] = [light(rgb(getComputedStyle(node).color)), light(behind(node))].sort((a, b) => b - a);
  return [(one + 0.05) / (two + 0.05), `${node.tagName}.${node.className} ${node.textContent.slice(0, 30)}`];
}).filter(([ratio]) => ratio < 4.5);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 820, 1440])
def test_text_has_contrast_and_fits_in_three_sizes(
    browser: Chrome, pages: Path, width: int, scheme: str
) -> None:
    emulated = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 400}
    try:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": emulated})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        open_page(browser, pages, "regex:(a|b)*abb")
        browser.execute_script("krohn.find('draw').open = true")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script(CONTRAST) == []
        moving = browser.execute_script(
            "return [...document.querySelectorAll('*')]"
            ".filter((node) => parseFloat(getComputedStyle(node).transitionDuration) > 0).length"
        )
        assert moving == 0
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_page_says_no_word_twice_and_names_no_internals(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    text = browser.find_element(By.TAG_NAME, "main").text
    assert "Cascade coordinates" not in text
    assert not re.search(r"level \d section", browser.find_element(By.ID, "coordinates").text)
