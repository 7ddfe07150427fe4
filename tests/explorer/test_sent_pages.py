"""The page that people send: links, networks built in the browser, a trained one beside, and the story."""

import itertools
import json
import re
from base64 import b64decode
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import krohn
from explorer.test_standalone_page import complaints
from krohn.cli.app import run
from krohn.explorer.trained_results import GALLERY
from krohn.lab.models.architectures.gpt import GptConfig

GPT: dict[str, Any] = json.loads((files("krohn.explorer") / "assets" / "gpt.json").read_text())


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sent") / "page.html"
    assert run(["explore", "S4", "C2", "Q8", "--length", "24", "--out", str(path)]) == 0
    return path


def visit(browser: Chrome, address: str) -> None:
    browser.get("about:blank")
    browser.get(address)


def waited(browser: Chrome, script: str, seconds: int = 60) -> Any:
    """The value of a script once it is true."""
    return WebDriverWait(browser, seconds).until(lambda chrome: chrome.execute_script(f"return {script}"))


def shown(browser: Chrome) -> dict[str, Any]:
    """What a link must bring back."""
    seen: dict[str, Any] = browser.execute_script(
        """const e = krohn.current; return { name: krohn.find('name').textContent, word: e.word, at: e.cursor,
        verdict: krohn.find('verdict').textContent, states: [...e.trace.outputs],
        seal: krohn.find('seal').textContent, weight: krohn.find('chosen').textContent,
        table: e.machine.automaton.table, accepting: e.machine.automaton.accepting }"""
    )
    return seen


def copied(browser: Chrome) -> str:
    browser.execute_script(  # the label says so for a moment only
        """const label = krohn.find('copy'); krohn.copied = null; window.labels = [];
        new MutationObserver(() => labels.push(label.textContent)).observe(label, { childList: true })"""
    )
    browser.find_element(By.ID, "copy").click()
    assert waited(browser, "labels[0]") == "Copied"
    return str(waited(browser, "krohn.copied"))


def test_a_link_brings_back_automaton_word_and_position(browser: Chrome, page: Path) -> None:
    visit(browser, page.as_uri())
    button = browser.find_element(By.CSS_SELECTOR, '#machines [data-name="Q8"]')
    button.click()
    browser.execute_script("krohn.current.setWord([1, 0, 1, 1, 0, 0, 1], 4)")
    before = shown(browser)
    assert (before["name"], before["at"]) == ("Q8", 4)
    link = copied(browser)
    assert waited(browser, "location.hash.includes('t=4') && location.href") == link
    visit(browser, link)
    assert shown(browser) == before
    browser.execute_script("location.hash = 'a=S4&w=1023+1230&t=2'")
    assert waited(browser, "krohn.find('name').textContent === 'S4' && krohn.current.cursor") == 2
    after = shown(browser)
    assert after["states"] == krohn.zoo("S4").run("1023 1230")
    assert complaints(browser) == []


def test_a_link_brings_back_a_sentence_of_the_story(browser: Chrome, page: Path) -> None:
    visit(browser, page.as_uri())
    button = browser.find_element(By.ID, "story-begin")
    assert button.text == "The story in 5 steps"
    button.click()
    waited(browser, "krohn.find('story-text').textContent")
    for _ in range(3):  # into the second step
        before = browser.find_element(By.ID, "story-text").text
        browser.find_element(By.ID, "story-next").click()
        waited(browser, f"krohn.find('story-text').textContent !== {json.dumps(before)}")
    assert waited(browser, "location.hash === '#story=2.1' && location.href")
    told = browser.find_element(By.ID, "story-text").text
    link = browser.current_url
    visit(browser, link)
    assert waited(browser, "krohn.find('story-text').textContent") == told
    assert browser.find_element(By.ID, "story-title").text == "2 of 5: A clock"
    visit(browser, f"{page.as_uri()}#story=1.3")
    waited(browser, "krohn.story.said === 3")
    # After the story its machine stays, and has a link of its own, though it is no card of the page.
    visit(browser, link)
    waited(browser, "krohn.find('name').textContent === 'C12:01'")
    browser.execute_script("krohn.story.leave()")
    kept = str(waited(browser, "location.hash.includes('s=clock') && location.href"))
    visit(browser, kept)
    assert waited(browser, "krohn.find('name').textContent === 'C12:01'")
    assert not browser.find_element(By.ID, "story").is_displayed()
    assert not browser.find_element(By.ID, "notice").is_displayed()
    assert complaints(browser) == []


@pytest.mark.parametrize("unknown", ["a=Nope", "Nope", "story=9.1", "story=1.9", "a=S4&s=none", "w=01"])
def test_a_link_that_the_page_cannot_follow_says_so(browser: Chrome, page: Path, unknown: str) -> None:
    visit(browser, f"{page.as_uri()}#{unknown}")
    assert waited(browser, "!krohn.find('notice').hidden")
    text = browser.find_element(By.ID, "notice").text
    assert text.startswith("The link names ")
    assert ", which this page does not have; it shows " in text
    browser.execute_script("krohn.open(krohn.current.machine)")
    assert not browser.find_element(By.ID, "notice").is_displayed()
    visit(browser, f"{page.as_uri()}#word")  # a part of the page
    assert not browser.find_element(By.ID, "notice").is_displayed()
    assert complaints(browser) == []


def test_a_link_brings_back_a_broken_weight(browser: Chrome, page: Path) -> None:
    visit(browser, f"{page.as_uri()}#a=S4&w=1023+1230+0132&t=3")
    browser.execute_script("krohn.current.breaking.breakOne()")
    waited(browser, "krohn.find('damage').textContent.startsWith('Broken')")
    before = shown(browser)
    assert "a weight is changed" in before["seal"]
    visit(browser, copied(browser))
    assert shown(browser) == before
    waited(browser, "krohn.find('damage').textContent.startsWith('Broken')")
    browser.execute_script("scrollTo(0, document.body.scrollHeight)")
    browser.find_element(By.ID, "show-wrong").click()
    waited(browser, "Math.abs(krohn.find('word').getBoundingClientRect().top) < 20")
    assert browser.execute_script("return krohn.current.truth.at(-1) !== krohn.current.trace.outputs.at(-1)")


def test_a_link_brings_back_a_drawing_and_a_pattern(browser: Chrome, page: Path) -> None:
    visit(browser, page.as_uri())
    press = """krohn.find('draw').open = true; for (const name of arguments[0])
        [...document.querySelectorAll('#draw-body button')].find((b) => b.textContent === name).click()"""
    browser.execute_script(press, ["Add a letter", "Add a state", "Show its network"])
    assert (
        waited(browser, "krohn.find('name').textContent === 'drawing' && krohn.current.network.length") == 16
    )
    browser.execute_script("krohn.current.setWord([2, 0, 1, 0], 3)")
    before = shown(browser)
    visit(browser, copied(browser))
    waited(browser, "krohn.find('name').textContent === 'drawing'")
    assert shown(browser) | {"seal": ""} == before | {"seal": ""}
    visit(browser, f"{page.as_uri()}#a=regex:(a|b)*abb&w=aabb&t=4")
    waited(browser, "krohn.find('name').textContent === 'regex:(a|b)*abb'")
    assert "match" in shown(browser)["verdict"]
    assert shown(browser)["word"] == [0, 0, 1, 1]
    assert complaints(browser) == []


def test_a_bad_link_opens_the_page_and_says_nothing_wrong(browser: Chrome, page: Path) -> None:
    for bad in (
        "%E0%A4%A",
        "a=none",
        "a=S4&w=9&t=x&b=y",
        "a=x&d=ab;0;;zz.00",
        "a=S4&b=readout:9999:5",
        "d=a",
    ):
        visit(browser, f"{page.as_uri()}#{bad}")
        assert shown(browser)["name"] == "S4", bad
        assert "proved right" in shown(browser)["seal"], bad
    assert complaints(browser) == []


FEW = ("S4", "A5", "Grid9", "Q8")


@pytest.mark.parametrize("names", [FEW, GALLERY], ids=["few", "with the rest"])
def test_a_link_into_a_gallery_opens_the_player(
    browser: Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    """Some automata of the gallery; all 19 are built by ``make attacks``, and kept in the site."""
    assert set(FEW) < set(GALLERY)
    monkeypatch.setattr("krohn.explorer.page_data.GALLERY", names)
    path = tmp_path / "gallery.html"
    assert run(["explore", "--gallery", "--length", "6", "--out", str(path)]) == 0
    visit(browser, f"{path.as_uri()}#S4")
    assert abs(waited(browser, "krohn.find('name').getBoundingClientRect().top + 1")) < 40
    assert shown(browser)["name"] == "S4"
    card = browser.find_element(By.CSS_SELECTOR, '.card[data-name="A5"]')
    assert "words up to 6 letters" in card.get_attribute("textContent")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".card[data-name]")) == len(names)


PATTERNS = ("(a|b)*abb", "(aa)*", "a(b|c)*d", "(a|b)*a(a|b)(a|b)", "((ab)*|c+)?", "a{3}b*")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_gets_a_network_that_matches_as_python_does(
    browser: Chrome, page: Path, pattern: str
) -> None:
    visit(browser, page.as_uri())
    browser.execute_script("krohn.find('draw').open = true")
    browser.find_element(By.ID, "pattern").send_keys(pattern, Keys.ENTER)
    browser.find_element(By.ID, "show-network").click()
    waited(browser, f"krohn.find('name').textContent === {json.dumps('regex:' + pattern)}")
    letters = browser.execute_script("return krohn.current.machine.automaton.letters")
    assert letters == sorted(set(re.findall(r"[a-z]", pattern)))
    words = [w for n in range(1, 5) for w in itertools.product(range(len(letters)), repeat=n)]
    rng = np.random.default_rng(0)
    words += [tuple(map(int, rng.integers(len(letters), size=12))) for _ in range(20)]
    got = browser.execute_script(
        """const { network, machine } = krohn.current; return arguments[0].map((word) =>
        machine.automaton.accepting.includes(network.run(word, false).outputs.at(-1)))""",
        words,
    )
    spelled = ["".join(letters[letter] for letter in word) for word in words]
    assert got == [bool(re.fullmatch(pattern, word)) for word in spelled]
    seal = browser.find_element(By.ID, "seal").text
    assert ("not proved" in seal) == bool(browser.execute_script("return krohn.current.machine.built"))
    assert complaints(browser) == []


def test_the_trained_network_computes_in_the_page_what_it_computes_in_torch(
    browser: Chrome, page: Path
) -> None:
    model = GptConfig(layers=GPT["layers"], dim=GPT["dim"], heads=GPT["heads"], mlp=64)
    network = model.build(2, GPT["classes"])
    weights = {
        name: torch.from_numpy(
            np.frombuffer(b64decode(tensor["data"]), "<f4").reshape(tensor["shape"]).copy()
        )[None]
        for name, tensor in GPT["tensors"].items()
    }
    words = np.random.default_rng(5).integers(2, size=(20, 24))
    expected = network.logits(weights, torch.from_numpy(words)[None])[0].detach().numpy()
    visit(browser, f"{page.as_uri()}#C2")
    got = browser.execute_script(
        """const gpt = krohn.trainedFor(krohn.current.machine.automaton); return arguments[0].map((word) => {
        const cache = []; return word.map((letter, place) => [...gpt.step(cache, letter, place)]); })""",
        words.tolist(),
    )
    assert np.allclose(np.array(got), expected, atol=1e-3)


def test_the_page_finds_where_training_fails_and_the_construction_holds(browser: Chrome, page: Path) -> None:
    visit(browser, f"{page.as_uri()}#a=C2&w=0110&t=4")
    cells = browser.find_elements(By.CSS_SELECTOR, "#letters .learned")
    assert [cell.text for cell in cells] == [
        cell.text for cell in browser.find_elements(By.CSS_SELECTOR, "#letters .after")
    ]
    browser.find_element(By.ID, "find-failure").click()
    text = waited(
        browser, "krohn.find('failure').textContent.includes('compiled') && krohn.find('failure').textContent"
    )
    assert "The compiled network is right on it" in text
    seen = browser.execute_script("const e = krohn.current; return [e.word, [...e.trace.outputs], e.learned]")
    truth = krohn.zoo("C2").run(seen[0])
    assert seen[1] == truth
    assert seen[2][:-1] == truth[:-1]
    assert seen[2][-1] != truth[-1]
    assert len(browser.find_elements(By.CSS_SELECTOR, "#letters .learned.wrong")) == 1
    assert complaints(browser) == []


def test_other_automata_have_no_trained_network_here(browser: Chrome, page: Path) -> None:
    visit(browser, f"{page.as_uri()}#S4")
    assert not browser.find_element(By.ID, "learned").is_displayed()


PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}


def test_on_a_phone_the_network_comes_before_the_cards(
    browser: Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krohn.explorer.page_data.GALLERY", FEW)
    page = tmp_path / "gallery.html"
    assert run(["explore", "--gallery", "--length", "6", "--out", str(page)]) == 0
    places = (
        "return ['word', 'machines', 'gallery-head'].map((id) => krohn.find(id).getBoundingClientRect().top)"
    )
    try:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        visit(browser, page.as_uri())
        word, cards, head = browser.execute_script(places)
        assert word < head < cards
        assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE["width"]
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    visit(browser, page.as_uri())
    word, cards, head = browser.execute_script(places)
    assert head < cards < word


@pytest.mark.parametrize("size", [PHONE, {**PHONE, "width": 1280, "height": 900, "mobile": False}])
def test_the_story_is_clicked_through_and_its_box_covers_nothing(
    browser: Chrome, page: Path, size: dict[str, Any]
) -> None:
    media = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    titles, sentences, machines = [], [], []
    try:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        visit(browser, page.as_uri())
        browser.find_element(By.ID, "story-begin").click()
        for _ in range(20):
            last = json.dumps(sentences[-1] if sentences else "")
            said = "krohn.find('story-text').textContent"
            text = waited(browser, f"{said} !== {last} && {said}")
            sentences.append(text)
            titles.append(browser.find_element(By.ID, "story-title").text)
            machines.append(shown(browser)["name"])
            assert browser.execute_script(COVERED) == []
            assert browser.execute_script("return document.documentElement.scrollWidth") <= size["width"]
            if browser.find_element(By.ID, "story-next").text == "Done":
                break
            browser.find_element(By.ID, "story-next").click()
        assert list(dict.fromkeys(title.split(":")[0] for title in titles)) == [
            f"{step} of 5" for step in range(1, 6)
        ]
        assert list(dict.fromkeys(machines)) == ["Parity", "C12:01", "S4", "A5"]
        assert waited(browser, "krohn.current.truth.at(-1) !== krohn.current.trace.outputs.at(-1)")
        browser.find_element(By.ID, "story-next").click()
        assert not browser.find_element(By.ID, "story").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert complaints(browser) == []


COVERED = """const box = krohn.find('story').getBoundingClientRect();
const parts = document.querySelectorAll('main > section, main > .pair, #score tr, #letters li');
return [...parts].filter((node) => {
  const at = node.getBoundingClientRect();
  const inside = node.contains(krohn.find('story'));
  return !inside && at.height && at.top < box.bottom - 1 && at.bottom > box.top + 1;
}).map((node) => node.id || node.tagName)"""


def test_people_sit_where_the_state_says(browser: Chrome, page: Path) -> None:
    visit(browser, page.as_uri())
    browser.execute_async_script(
        """const done = arguments[0]; krohn.find('story-begin').click();
        const next = () => krohn.find('story-next').click();
        setTimeout(() => { for (let i = 0; i < 5; i++) setTimeout(next, 300 * i);
        setTimeout(done, 2500); }, 1000)"""
    )
    assert browser.find_element(By.ID, "story-title").text.startswith("3 of 5: ")
    for word in ([0, 1], [3, 1, 1, 6]):
        browser.execute_script("krohn.current.setWord(arguments[0], arguments[0].length)", word)
        name = krohn.zoo("S4").state_names[krohn.zoo("S4").run(word)[-1]]
        places = browser.execute_script(
            "return krohn.current.scene.people.map((person) => parseFloat(person.style.transform.slice(11)))"
        )
        order = "".join(str(person) for person in np.argsort(places))
        assert order == name


def test_the_size_panel_says_blocks_width_parameters_and_depth(browser: Chrome, page: Path) -> None:
    visit(browser, f"{page.as_uri()}#S4")
    sizes = krohn.compile("S4", 24).sizes()
    text = browser.find_element(By.ID, "sizes").text
    for label, key in (
        ("layers", "depth"),
        ("blocks of GPT-2", "blocks"),
        ("width", "dim"),
        ("parameters", "num_parameters"),
    ):
        assert f"{label}\n{sizes[key]:,}" in text
