"""The page in a real browser: it runs the network itself, and every part is in step."""

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By

import krohn
from krohn.cli.app import run
from krohn.explorer.page_data import describe, render_page
from krohn.explorer.trained_results import GALLERY
from krohn.network.forward import logits
from krohn.network.transformer import Transformer

SPECS = ("S4", "Dyck4,2", "A5", "regex:(a|b)*abb")


def open_page(browser: Chrome, path: Path, name: str = "S4") -> None:
    browser.get("about:blank")
    browser.get(f"{path.as_uri()}#{name}")
    assert browser.find_element(By.ID, "name").text == name


def complaints(browser: Chrome) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser")]


def word(browser: Chrome) -> list[int]:
    return list(browser.execute_script("return krohn.current.word"))


def shown_states(browser: Chrome) -> list[str]:
    return [cell.text for cell in browser.find_elements(By.CSS_SELECTOR, "#letters .after")]


def test_the_page_is_one_small_file_that_names_no_address(tmp_path: Path) -> None:
    path = tmp_path / "s4.html"
    assert run(["explore", "S4", "--out", str(path)]) == 0
    text = path.read_text()
    assert len(text.encode()) < 1_000_000
    assert set(re.findall(r"https?://[^\"' ]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/2000/svg\\",
    }
    assert not re.search(r"<(?:link|iframe|img)\b|\bsrc=|@import|url\(", text)
    assert "default-src 'none'" in text


@pytest.mark.parametrize("spec", SPECS)
def test_the_browser_computes_the_logits_that_python_computes(
    browser: Chrome, pages: Path, spec: str
) -> None:
    network = krohn.compile(krohn.parse_spec(spec), 16)
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 17, size=50)
    words = [rng.integers(0, network.automaton.num_letters, size=length).tolist() for length in lengths]
    open_page(browser, pages, spec)
    actual = browser.execute_script(
        "return arguments[0].map((word) => [...krohn.current.network.run(word, false).logits])", words
    )
    for letters, values in zip(words, actual, strict=True):
        expected = logits(network.transformer, np.array([letters]))[0]
        np.testing.assert_allclose(np.reshape(values, expected.shape), expected, rtol=0, atol=1e-9)
    assert complaints(browser) == []


KINDS: list[tuple[str, dict[str, Any]]] = [
    ("S3", {"method": "paper"}),
    ("Grid4", {"method": "grid"}),
    ("C3", {"method": "scan"}),
]


def test_every_kind_of_network_runs_in_the_browser(browser: Chrome, tmp_path: Path) -> None:
    networks = [krohn.compile(krohn.zoo(spec), 8, **options) for spec, options in KINDS]
    page = tmp_path / "kinds.html"
    page.write_text(render_page({"machines": [describe(network, None) for network in networks]}))
    browser.get(page.as_uri())
    rng = np.random.default_rng(1)
    for number, network in enumerate(networks):
        words = rng.integers(0, network.automaton.num_letters, size=(10, 8))
        actual = browser.execute_script(
            """krohn.find('machines').children[arguments[0]].click();
            return arguments[1].map((word) => [...krohn.current.network.run(word, false).logits])""",
            number,
            words.tolist(),
        )
        expected = logits(network.transformer, words)
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(
            np.reshape(actual, expected.shape) / scale, expected / scale, rtol=0, atol=1e-9
        )
    assert complaints(browser) == []


def test_it_loads_within_two_seconds_and_steps_within_fifty_milliseconds(
    browser: Chrome, pages: Path
) -> None:
    loads = []
    for _ in range(3):
        open_page(browser, pages)
        loads.append(browser.execute_script("return performance.getEntriesByType('navigation')[0].duration"))
    assert min(loads) < 2000
    steps = browser.execute_script(
        """krohn.current.setWord(krohn.current.randomWord(16), 0);
        return krohn.current.word.map(() => {
          const before = performance.now();
          krohn.current.go(krohn.current.cursor + 1);
          document.body.offsetHeight;
          return performance.now() - before;
        })"""
    )
    assert len(steps) == 16
    assert sorted(steps)[8] < 50


def test_a_word_that_grows_shows_what_a_new_word_shows(browser: Chrome, pages: Path) -> None:
    """Appended letters add columns to what is there; the result is that of drawing all anew."""
    open_page(browser, pages, "Dyck4,2")
    grown, anew = (
        browser.execute_script(
            """const explorer = krohn.current;
            explorer.setWord([], 0);
            if (arguments[0]) for (const letter of [0, 1, 3, 0]) explorer.append(letter);
            else explorer.setWord([0, 1, 3, 0], 4);
            return [krohn.find('score').innerText, krohn.find('letters').innerText]""",
            step,
        )
        for step in (True, False)
    )
    assert grown == anew
    assert len(anew[0]) > 200


def test_clicks_on_letters_and_states_write_the_word(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    automaton = krohn.zoo("S4")
    browser.find_element(By.ID, "clear").click()
    for letter in browser.find_elements(By.CSS_SELECTOR, "#alphabet button")[:3]:
        letter.click()
    assert word(browser) == [0, 1, 2]
    assert shown_states(browser) == [automaton.state_names[state] for state in automaton.run([0, 1, 2])]
    goal = browser.find_element(By.CSS_SELECTOR, "#diagram circle[data-state='17']")
    browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click'))", goal)
    assert automaton.run(word(browser))[-1] == 17
    assert "current" in (goal.get_attribute("class") or "")
    browser.find_elements(By.CSS_SELECTOR, "#letters button")[0].click()
    assert browser.execute_script("return krohn.current.cursor") == 1
    live = browser.find_element(By.ID, "live").get_attribute("textContent")
    assert live == f"Letter 1 of {len(word(browser))}: 1023. State 1023, right."


def test_a_typed_word_runs_and_a_typo_is_reported(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages, "regex:(a|b)*abb")
    field = browser.find_element(By.ID, "typed")
    field.clear()
    field.send_keys("aababb")
    automaton = krohn.from_regex("(a|b)*abb")
    assert shown_states(browser) == [automaton.state_names[q] for q in automaton.run([0, 0, 1, 0, 1, 1])]
    field.send_keys("x")
    assert browser.find_element(By.ID, "typed-note").text == "“x” is not a letter. The letters are ab"
    assert field.get_attribute("aria-invalid") == "true"
    assert len(word(browser)) == 6
    field.send_keys(Keys.BACKSPACE, "b" * 40)
    assert "at most 16 letters" in browser.find_element(By.ID, "typed-note").text
    accepting = browser.find_elements(By.CSS_SELECTOR, "#diagram .accept")
    assert len(accepting) == 1


def test_play_steps_on_and_pauses(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    browser.find_element(By.ID, "clear").click()
    browser.execute_script("krohn.find('speed').value = 12")
    play = browser.find_element(By.ID, "play")
    play.click()
    browser.execute_async_script(  # in the page itself, which does not go on between looking and pausing
        "const done = arguments[0], wait = setInterval(() => {"
        "  if (krohn.current.word.length < 4) return;"
        "  clearInterval(wait); krohn.find('play').click(); done(); }, 5)"
    )
    assert play.text == "Play"
    reached = word(browser)
    assert len(reached) >= 4
    time.sleep(0.4)
    assert word(browser) == reached


def test_the_keyboard_suffices(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    browser.find_element(By.ID, "clear").click()
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys("1", "2", "3", Keys.BACKSPACE, "8")
    assert word(browser) == [0, 1, 7]
    body.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    assert browser.execute_script("return krohn.current.cursor") == 1
    body.send_keys(Keys.END)
    assert browser.execute_script("return krohn.current.cursor") == 3


def test_everything_that_can_be_used_has_a_name(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "textbox", "combobox", "slider", "link", "region", "img"}
    used = [node for node in tree if not node["ignored"] and node["role"]["value"] in roles]
    assert len(used) > 30
    assert [node for node in used if not node.get("name", {}).get("value")] == []


def nudged(spec: str, name: str, index: int, change: float) -> Transformer:
    """The compiled network with one weight changed, built in Python."""
    from krohn.network.transformer_file import transformer_from

    network = krohn.compile(krohn.parse_spec(spec), 16).transformer
    tensors = {key: matrix.copy() for key, matrix in network.tensors().items()}
    tensors[name].ravel()[index] += change
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in network.layers]
    return transformer_from(tensors, shape)


def test_a_nudged_weight_gives_a_word_that_is_really_wrong(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    name = "layers.0.heads.0.W_V"
    index = browser.execute_script(
        "return krohn.current.network.tensors[arguments[0]].values.findIndex((value) => value !== 0)", name
    )
    browser.execute_script("krohn.current.breaking.choose(arguments[0], arguments[1])", name, index)
    slider = browser.find_element(By.ID, "nudge")
    browser.execute_script("arguments[0].value = 80; arguments[0].dispatchEvent(new Event('input'))", slider)
    show = None
    for _ in range(600):
        time.sleep(0.1)
        show = next(iter(browser.find_elements(By.CSS_SELECTOR, "#damage button")), None)
        if show:
            break
    assert show is not None, browser.find_element(By.ID, "damage").text
    browser.execute_script("arguments[0].click()", show)
    wrong = word(browser)
    value = browser.execute_script(
        "const { name, index, value } = krohn.current.breaking.chosen;"
        "return krohn.current.network.tensors[name].values[index] - value"
    )
    automaton = krohn.zoo("S4")
    states = logits(nudged("S4", name, index, value), np.array([wrong]))[0].argmax(-1).tolist()
    truth = automaton.run(wrong)
    assert states[-1] != truth[-1]
    assert states[:-1] == truth[:-1]
    assert browser.find_elements(By.CSS_SELECTOR, "#letters .wrong")
    browser.execute_script("krohn.find('mend').click()")
    assert not browser.find_elements(By.CSS_SELECTOR, "#letters .wrong")


def test_light_and_dark_follow_the_system_and_the_button(browser: Chrome, pages: Path) -> None:
    def brightness() -> int:
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        return sum(int(number) for number in re.findall(r"\d+", colour)[:3])

    try:
        for scheme, button in (("dark", "☀ Light"), ("light", "☾ Dark")):
            emulated = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
            open_page(browser, pages)
            assert (brightness() < 200) == (scheme == "dark")
            theme = browser.find_element(By.ID, "theme")
            assert theme.text == button
            theme.click()
            assert (brightness() < 200) == (scheme != "dark")
            browser.execute_script("localStorage.clear()")
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("spec", SPECS)
def test_a_phone_shows_it_without_scrolling_sideways(browser: Chrome, pages: Path, spec: str) -> None:
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        open_page(browser, pages, spec)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert complaints(browser) == []


def test_text_of_diagrams_stays_inside_their_circles(browser: Chrome, pages: Path) -> None:
    for spec in SPECS:
        open_page(browser, pages, spec)
        outside = browser.execute_script(
            """return [...document.querySelectorAll('#diagram text.name')].filter((text) => {
              const circle = document.querySelector(`#diagram circle[data-state='${text.dataset.state}']`);
              return text.getBBox().width > 2 * circle.getBBox().width / 2;
            }).map((text) => text.textContent)"""
        )
        assert outside == []


def test_the_committed_gallery_opens_every_automaton(browser: Chrome) -> None:
    browser.get((Path(__file__).parents[2] / "docs" / "gallery" / "explorer.html").as_uri())
    names = [card.get_attribute("data-name") for card in browser.find_elements(By.CSS_SELECTOR, ".card")]
    assert tuple(names) == GALLERY
    right = browser.execute_script(
        """return [...document.querySelectorAll('.card')].map((card) => {
          card.click();
          const { trace, truth, word } = krohn.current;
          return word.length > 5 && truth.every((state, index) => state === trace.outputs[index]);
        })"""
    )
    assert right == [True] * len(GALLERY)
    # What is drawn in a gallery becomes a card like the others; it was a large blue circle.
    browser.find_element(By.ID, "draw-begin").click()
    pattern = browser.find_element(By.ID, "pattern")
    pattern.clear()
    pattern.send_keys("(ab)*", Keys.ENTER)
    browser.find_element(By.ID, "show-network").click()
    browser.execute_async_script("setTimeout(arguments[0], 1500)")
    assert browser.find_element(By.CSS_SELECTOR, "#machines > *").get_attribute("class") == "card"
    assert browser.find_element(By.ID, "name").text == "regex:(ab)*"
    assert complaints(browser) == []


def test_names_are_text_whatever_they_are(browser: Chrome, tmp_path: Path) -> None:
    hostile = "</script><img/src=x/onerror=alert(1)>"
    automaton = {
        "krohn": 1,
        "letters": ["<b>", "&amp;"],
        "states": [hostile, "q"],
        "start": "q",
        "next": {hostile: {"<b>": "q", "&amp;": hostile}, "q": {"<b>": hostile, "&amp;": "q"}},
    }
    (tmp_path / "bad.json").write_text(json.dumps(automaton))
    out = tmp_path / "bad.html"
    assert run(["explore", str(tmp_path / "bad.json"), "--length", "8", "--out", str(out)]) == 0
    browser.get(out.as_uri())
    assert browser.find_elements(By.TAG_NAME, "img") == []
    buttons = [button.text for button in browser.find_elements(By.CSS_SELECTOR, "#alphabet button")]
    assert buttons == ["<b>", "&amp;"]
    assert complaints(browser) == []
