"""Statements of the page against the data: layers, proofs, matches, coordinates, colours, words."""

import itertools
import re
import time
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

import krohn
from explorer.test_standalone_page import complaints, open_page
from krohn.cli.app import run
from krohn.explorer.page_data import describe, render_page

SPECS = ("Grid9", "regex:(a|b)*abb", "S4", "abab", "C2")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("truth") / "page.html"
    assert run(["explore", *SPECS, "--length", "16", "--out", str(path)]) == 0
    return path


def text(browser: Chrome, name: str) -> str:
    return str(browser.find_element(By.ID, name).get_attribute("textContent"))


@pytest.mark.parametrize("spec", SPECS)
def test_steps_of_the_proof_name_their_layers(browser: Chrome, page: Path, spec: str) -> None:
    open_page(browser, page, spec)
    network = krohn.compile(spec, length=16)
    depth = len(network.transformer.layers)
    expected = []
    for check in krohn.verify(network).to_json()["checks"]:
        layer = check["layer"]
        where = "" if layer < 1 else f"block {layer} · " if layer <= depth else "read-out · "
        expected.append(f"{where}{check['name']}")
    shown = [
        str(step.get_attribute("textContent"))
        for step in browser.find_elements(By.CSS_SELECTOR, "#certificate details li b")
    ]
    assert shown == expected


def test_a_broken_network_is_called_proved_nowhere(browser: Chrome, page: Path) -> None:
    open_page(browser, page, "S4")
    assert "proved right" in text(browser, "seal")
    browser.execute_script(
        """const { breaking, network } = krohn.current, name = 'layers.0.heads.0.W_V';
        breaking.choose(name, network.tensors[name].values.findIndex((value) => value !== 0));
        krohn.find('nudge').value = 90;
        krohn.find('nudge').dispatchEvent(new Event('input'))"""
    )
    for name in ("seal", "certificate"):
        assert "changed" in text(browser, name)
        assert "proved right" not in text(browser, name)
    assert not browser.find_elements(By.CSS_SELECTOR, "#seal .stamp:not(.none)")
    browser.execute_script("krohn.find('mend').click()")
    assert "proved right" in text(browser, "seal")
    assert "changed" not in text(browser, "certificate")


def test_the_prompt_takes_one_column_and_the_word_is_in_sight(browser: Chrome, page: Path) -> None:
    open_page(browser, page, "Grid9")
    assert browser.execute_script("return krohn.current.network.padding") > 8
    heads = [cell.text for cell in browser.find_elements(By.CSS_SELECTOR, ".score thead th")][1:]
    assert sum(head.startswith("⊥") for head in heads) == 1
    assert len(heads) == 1 + 12
    last = browser.execute_script(
        """const cells = krohn.find('score').querySelectorAll('thead th');
        const box = krohn.find('score').getBoundingClientRect();
        return cells[cells.length - 1].getBoundingClientRect().right <= box.right + 1"""
    )
    assert last
    sums = browser.execute_script(  # the column of the prompt has the weight of all its positions
        """const { score, trace, cursor, network } = krohn.current, here = network.padding + cursor - 1;
        return score.heads.map(({ layer, head, cells }) => {
          const from = here * trace.positions;
          const row = [...trace.heads[layer][head].subarray(from, from + network.padding)];
          const prompt = row.reduce((a, b) => a + b, 0);
          return [prompt, cells[0].weight];
        })"""
    )
    assert len(sums) > 5
    for wanted, shown in sums:
        assert abs(wanted - shown) < 1e-9
    browser.find_element(By.CSS_SELECTOR, ".score thead button").click()
    heads = [cell.text for cell in browser.find_elements(By.CSS_SELECTOR, ".score thead th")][1:]
    assert sum(head.startswith("⊥") for head in heads) > 8


@pytest.mark.parametrize("spec", SPECS)
def test_coordinates_are_values_that_a_reader_can_check(browser: Chrome, page: Path, spec: str) -> None:
    """Codes of states are shown as states; every other dial has as many marks as its register has values."""
    open_page(browser, page, spec)
    result = browser.execute_script(
        """const { current } = krohn, { states } = current.machine.automaton;
        current.go(current.word.length);
        const must = states[current.truth[current.word.length - 1]];
        const dials = [...document.querySelectorAll('#coordinates figure')].map((dial) => [
          dial.querySelector('text').textContent, dial.querySelectorAll('circle').length - 1,
          dial.querySelectorAll('.lit').length]);
        return [must, dials]"""
    )
    must, dials = result
    assert dials
    if len(dials) == 1 and spec != "C2":
        assert dials[0][0] == must
    for shown, marks, lit in dials:
        assert lit == 1, (shown, marks)


def test_a_line_of_states_is_drawn_across_the_page(browser: Chrome, page: Path) -> None:
    open_page(browser, page, "Grid9")
    width, room, height, card = browser.execute_script(
        """const box = (name) => document.querySelector(name).getBoundingClientRect();
        const card = krohn.find('diagram').closest('.panel').getBoundingClientRect();
        return [box('#diagram svg').width, box('main').width, box('#diagram svg').height, card.height]"""
    )
    assert width > 0.8 * room
    assert height > 0.4 * card


def test_a_gallery_has_a_title(browser: Chrome, tmp_path: Path) -> None:
    machines = [describe(krohn.compile(spec, 4), None) for spec in ("C2", "C3")]
    (tmp_path / "gallery.html").write_text(render_page({"machines": machines, "gallery": True}))
    assert "<title>Gallery of 2 automata · krohn</title>" in (tmp_path / "gallery.html").read_text()
    browser.get((tmp_path / "gallery.html").as_uri())
    assert browser.find_element(By.CSS_SELECTOR, "h1").text == "The 2 automata of the paper"
    assert browser.title == "C2 · Gallery · krohn"


def test_a_pattern_says_match_or_no_match(browser: Chrome, page: Path) -> None:
    open_page(browser, page, "regex:(a|b)*abb")
    for word in ("abb", "ab", "aabb", "abba", "b"):
        field = browser.find_element(By.ID, "typed")
        field.clear()
        field.send_keys(word)
        says = "match" if re.fullmatch("(a|b)*abb", word) else "no match"
        assert browser.find_element(By.CSS_SELECTOR, "#verdict .match").text == says
        assert text(browser, "live").endswith(f" {says.capitalize()}.")
    open_page(browser, page, "S4")
    assert not browser.find_elements(By.CSS_SELECTOR, "#verdict .match")


def test_why_this_depth_speaks_of_the_network_that_is_shown(browser: Chrome, page: Path) -> None:
    open_page(browser, page, "regex:(a|b)*abb")
    assert "clamped counter" not in text(browser, "algebra")
    assert "looks at the letter before" in text(browser, "algebra")
    open_page(browser, page, "S4")
    assert "S4" in text(browser, "algebra")


@pytest.mark.parametrize("spec", SPECS)
def test_a_state_has_one_colour(browser: Chrome, page: Path, spec: str) -> None:
    open_page(browser, page, spec)
    seen: dict[str, set[str]] = {}
    pairs = browser.execute_script(
        """const painted = [['#letters .after'], ['.score td.state'], ['#diagram circle.state']];
        const colour = (node) => getComputedStyle(node).fill !== 'rgb(0, 0, 0)' && node.tagName === 'circle'
          ? getComputedStyle(node).fill : getComputedStyle(node).backgroundColor;
        const { states } = krohn.current.machine.automaton;
        return painted.flatMap(([rule]) => [...document.querySelectorAll(rule)].map((node) => [
          node.tagName === 'circle' ? states[node.dataset.state] : node.textContent, colour(node)]))"""
    )
    for state, colour in pairs:
        seen.setdefault(state, set()).add(colour)
    assert all(len(colours) == 1 for colours in seen.values()), seen
    rows = browser.execute_script(
        """return [...document.querySelectorAll('.score tr.register')]
          .filter((row) => row.classList.contains('coded'))
          .map((row) => [...row.cells].slice(2).map((cell) => getComputedStyle(cell).backgroundColor))"""
    )
    output = browser.execute_script(
        """return [...document.querySelectorAll('.score td.state')]
          .map((cell) => getComputedStyle(cell).backgroundColor)"""
    )
    assert all(row == output for row in rows)
    assert bool(rows) == (spec != "S4")  # the state of S4 has four coordinates


def test_the_shortest_wrong_word_is_the_shortest(browser: Chrome, page: Path) -> None:
    """Whatever is broken: a word that is called shortest has no shorter one, checked over all of them."""
    called = []
    for spec in ("regex:(a|b)*abb", "abab", "C2"):
        open_page(browser, page, spec)
        for name, change in (("layers.0.heads.0.W_V", 60), ("layers.0.mlp.0.b", 45), ("embedding", -40)):
            browser.execute_script(
                """const { breaking, network } = krohn.current, { values } = network.tensors[arguments[0]];
                breaking.choose(arguments[0], Math.max(0, values.findIndex((value) => value !== 0)));
                krohn.find('nudge').value = arguments[1];
                krohn.find('nudge').dispatchEvent(new Event('input'))""",
                name,
                change,
            )
            for _ in range(600):
                damage = text(browser, "damage")
                if "Looking" not in damage:
                    break
                time.sleep(0.05)
            if "wrong word" not in damage:
                continue
            match = re.search(r"\((\d+) letters?", damage)
            assert match, damage
            called.append(damage)
            letters = len(krohn.parse_spec(spec).letter_names)
            shorter = [
                list(word)
                for length in range(1, min(int(match[1]), 9 if letters == 2 else 6))
                for word in itertools.product(range(letters), repeat=length)
            ]
            wrong = browser.execute_script(
                """const { network, machine } = krohn.current;
                return arguments[0].filter((word) => {
                  const got = network.run(word, false).outputs;
                  return krohn.simulate(machine.automaton, word).some((state, i) => state !== got[i]);
                }).length""",
                shorter,
            )
            if damage.startswith("Broken. Shortest"):
                assert wrong == 0, damage
    assert any(answer.startswith("Broken. Shortest") for answer in called)
    assert complaints(browser) == []


LONGER = """
const done = arguments[0];
krohn.WORDS = 0;
const { machine, network, breaking } = krohn.current;
(async () => {
  for (const [name, { values }] of Object.entries(network.tensors)) {
    if (!name.includes('heads') && !name.includes('mlp')) continue;
    for (const index of values.keys()) {
      for (const factor of [1.1, 0.9, 1.5, 0.5]) {
        const kept = values[index];
        values[index] = kept * factor;
        const found = await krohn.firstWrong(network, machine.automaton, () => false);
        values[index] = kept;
        if (found.word && found.word.length > 1) {
          breaking.choose(name, index);
          values[index] = kept * factor;
          await breaking.search();
          return done(krohn.find('damage').textContent);
        }
      }
    }
  }
  done('no such weight');
})();
"""


def test_a_word_is_called_the_shortest_only_if_all_shorter_ones_were_tried(
    browser: Chrome, page: Path
) -> None:
    """With no short words tried, a wrong word of several letters is a wrong word and no more."""
    open_page(browser, page, "abab")
    damage = browser.execute_async_script(LONGER)
    assert re.match(r"Broken\. A wrong word \((?!1 letter)\d+ letters", damage), damage
