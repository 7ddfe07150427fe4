"""Appearance of pages in three sizes, light and dark, against stored references; keyboard use.

Kept are, for each block of a page, where it stands, how light it is in 16 × 8 fields, its background, and how
many of its pixels stand out from that and are coloured. Fonts differ between machines, so heights and shares
have room, and each block is compared with itself. ``KROHN_WRITE_SCREENS=1`` keeps what is seen now: look at
the pages before that.
"""

import base64
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from explorer.test_standalone_page import complaints, open_page

KEPT = Path(__file__).parent / "screens.json"
SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 900)}
PAGES = {"S4": "", "regex:(a|b)*abb": "krohn.find('draw').open = true"}
BLOCKS = {
    "bar": ".bar",
    "draw": "#draw[open]",
    "hero": ".hero",
    "word": "#word",
    "diagram": ".pair > .panel:first-child",
    "answer": ".answer",
    "inside": "#inside-panel",
    "sizes": ".facts > .panel",
    "proof": "#proof-panel",
    "algebra": "#algebra-panel",
    "break": "#break",
}
COLUMNS, ROWS = 16, 8
LIGHT, FIELD, SIDE, HEIGHT, SHARE, PAPER = 6.0, 34.0, 0.02, 1.5, 1.8, 2
"""What may differ: mean and 95th percentile of lightness of 255, sides as parts of the width, heights and
shares of pixels as factors, background of 255. Other fonts stay below, broken pages are above, as two tests
show."""

Look = dict[str, dict[str, Any]]


@contextmanager
def screen(browser: Chrome, size: str, scheme: str) -> Iterator[None]:
    width, height = SIZES[size]
    media = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    try:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def picture(browser: Chrome) -> Image.Image:
    """The whole page, not only what is in sight."""
    width, height = browser.execute_script(
        "const { clientWidth, scrollHeight } = document.documentElement; return [clientWidth, scrollHeight]"
    )
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    taken = browser.execute_cdp_cmd(
        "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip}
    )
    return Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")


def look(browser: Chrome) -> Look:
    """Every block in sight: left and right side, top, height, lightness of its fields."""
    boxes = browser.execute_script(
        """document.activeElement.blur(); scrollTo(0, 0);
        return Object.entries(arguments[0]).flatMap(([name, rule]) => {
          const node = document.querySelector(rule);
          if (!node || !node.offsetParent) return [];
          const { left, right, top, height } = node.getBoundingClientRect();
          return [[name, left, right, top, height]];
        })""",
        BLOCKS,
    )
    image = picture(browser)
    result: Look = {}
    for name, left, right, top, height in boxes:
        block = image.crop((round(left), round(top), round(right), round(top + height)))
        fields = block.convert("L").resize((COLUMNS, ROWS), Image.Resampling.BOX)
        planes = [np.ascontiguousarray(plane) for plane in np.moveaxis(np.asarray(block), 2, 0)]
        paper = np.array([np.median(plane) for plane in planes])
        apart = np.maximum.reduce(
            [np.abs(2 * p.astype(np.int16) - int(2 * m)) for p, m in zip(planes, paper, strict=True)]
        )
        spread = np.maximum.reduce(planes) - np.minimum.reduce(planes)
        result[name] = {
            "paper": paper.astype(int).tolist(),
            "ink": round(float((apart > 80).mean()), 4),
            "colour": round(float((spread > 40).mean()), 4),
            "sides": [round(left / image.width, 3), round(right / image.width, 3)],
            "top": round(top),
            "height": round(height),
            "light": np.asarray(fields).tobytes().hex(),
        }
    return result


def lightness(block: dict[str, Any]) -> npt.NDArray[np.float64]:
    fields = np.frombuffer(bytes.fromhex(block["light"]), dtype=np.uint8)
    return fields.astype(np.float64).reshape(ROWS, COLUMNS)


def differences(seen: Look, stored: Look) -> list[str]:
    """The differences in words; empty if the page looks as before."""
    if sorted(seen) != sorted(stored):
        return [f"blocks {', '.join(seen)} instead of {', '.join(stored)}"]
    result = []
    if sorted(seen, key=lambda name: seen[name]["top"]) != sorted(
        stored, key=lambda name: stored[name]["top"]
    ):
        result.append("the blocks stand in another order")
    for name, block in seen.items():
        before = stored[name]
        if max(abs(a - b) for a, b in zip(block["sides"], before["sides"], strict=True)) > SIDE:
            result.append(f"{name}: sides {block['sides']} instead of {before['sides']}")
        if not 1 / HEIGHT <= block["height"] / before["height"] <= HEIGHT:
            result.append(f"{name}: {block['height']} pixels high instead of {before['height']}")
        if max(abs(a - b) for a, b in zip(block["paper"], before["paper"], strict=True)) > PAPER:
            result.append(f"{name}: background {block['paper']} instead of {before['paper']}")
        for share in ("ink", "colour"):
            now, then = block[share] + 0.004, before[share] + 0.004  # less than half a per cent is nothing
            if not 1 / SHARE <= now / then <= SHARE:
                result.append(f"{name}: {share} {block[share]:.1%} instead of {before[share]:.1%}")
        apart = np.abs(lightness(block) - lightness(before))
        if apart.mean() > LIGHT or np.quantile(apart, 0.95) > FIELD:
            result.append(f"{name}: lightness differs by {apart.mean():.1f}, {np.quantile(apart, 0.95):.0f}")
    return result


def shown(browser: Chrome, pages: Path, page: str, change: str = "") -> Look:
    open_page(browser, pages, page)
    browser.execute_script(PAGES[page] or "return")
    if change:
        browser.execute_script(
            "document.head.append(Object.assign(document.createElement('style'), "
            "{ textContent: arguments[0] }))",
            change,
        )
    return look(browser)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", PAGES)
def test_pages_look_as_they_did(browser: Chrome, pages: Path, page: str, size: str, scheme: str) -> None:
    key = f"{page} {size} {scheme}"
    with screen(browser, size, scheme):
        seen = shown(browser, pages, page)
    if os.environ.get("KROHN_WRITE_SCREENS"):
        every = {**(json.loads(KEPT.read_text()) if KEPT.exists() else {}), key: seen}
        KEPT.write_text(json.dumps(every, separators=(",", ":"), sort_keys=True) + "\n")
    assert differences(seen, json.loads(KEPT.read_text())[key]) == []
    assert complaints(browser) == []


BROKEN = {
    "panels without a background": ".panel { background: none; border: 0; box-shadow: none }",
    "text that is not there": "#word * { color: transparent }",
    "no diagram": "#diagram svg { visibility: hidden }",
    "states without colours": ".state, .after, td { fill: none !important; background: none !important }",
    "two columns become one": ".pair { display: block }",
    "narrow page": "main { max-width: 900px }",
    "a block is gone": "#break { display: none }",
    "another order": "main { display: flex; flex-direction: column } #break { order: -1 }",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_page_is_seen(browser: Chrome, pages: Path, name: str) -> None:
    with screen(browser, "desk", "light"):
        seen = shown(browser, pages, "S4", BROKEN[name])
    assert differences(seen, json.loads(KEPT.read_text())["S4 desk light"]) != []


def test_the_wrong_scheme_is_seen(browser: Chrome, pages: Path) -> None:
    with screen(browser, "desk", "dark"):
        seen = shown(browser, pages, "S4")
    assert len(differences(seen, json.loads(KEPT.read_text())["S4 desk light"])) >= len(seen) - 1


@pytest.mark.parametrize("font", ["serif", "monospace"])
def test_another_font_is_not_a_difference(browser: Chrome, pages: Path, font: str) -> None:
    smaller = "0.86em" if font == "monospace" else "1em"
    with screen(browser, "desk", "light"):
        seen = shown(
            browser, pages, "S4", f"main * {{ font-family: {font}; }} main {{ font-size: {smaller} }}"
        )
    assert differences(seen, json.loads(KEPT.read_text())["S4 desk light"]) == []


def press(browser: Chrome, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def tab_to(browser: Chrome, name: str, most: int = 400) -> None:
    """Tab until that element has the focus, which must be seen."""
    for _ in range(most):
        press(browser, Keys.TAB)
        here, outline = browser.execute_script(
            "const at = document.activeElement; return [at.id, getComputedStyle(at).outlineStyle]"
        )
        if here == name:
            assert outline != "none", f"{name} has the focus, and nothing shows it"
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_everything_is_done_by_keys_alone(browser: Chrome, pages: Path) -> None:
    open_page(browser, pages)
    tab_to(browser, "story-begin")
    press(browser, Keys.ENTER)
    for _ in range(20):  # its fourteen sentences, one after the other
        browser.execute_async_script("setTimeout(arguments[0], 700)")
        if not browser.find_element(By.ID, "story").is_displayed():
            break
        press(browser, Keys.ENTER)
    assert not browser.find_element(By.ID, "story").is_displayed()
    open_page(browser, pages)
    tab_to(browser, "draw-begin")
    press(browser, Keys.ENTER, "(ab)*", Keys.ENTER)
    tab_to(browser, "try")
    press(browser, "abab")
    assert browser.find_element(By.ID, "try-says").text.endswith("match.")
    tab_to(browser, "show-network")
    press(browser, Keys.ENTER)
    browser.execute_async_script("setTimeout(arguments[0], 1500)")
    assert browser.find_element(By.ID, "name").text == "regex:(ab)*"
    tab_to(browser, "play")
    press(browser, Keys.ENTER)
    assert browser.find_element(By.ID, "play").text == "Pause"
    press(browser, Keys.ENTER)
    tab_to(browser, "typed")
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(
        "abb"
    ).perform()
    assert browser.execute_script("return krohn.current.word") == [0, 1, 1]
    tab_to(browser, "any")
    press(browser, Keys.ENTER)
    assert "changed" in browser.find_element(By.ID, "seal").text
    tab_to(browser, "mend")
    press(browser, Keys.ENTER)
    assert "proved right" in browser.find_element(By.ID, "seal").text
    tab_to(browser, "theme")
    press(browser, Keys.ENTER)
    assert browser.execute_script("return document.documentElement.dataset.theme") in ("light", "dark")
    browser.execute_script("localStorage.clear()")
    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map((each) => each.name)"
    )
    assert loaded == []  # one file, and the browser of these tests is offline
    assert complaints(browser) == []


def test_reduced_motion_stills_the_story(browser: Chrome, pages: Path) -> None:
    """With motion reduced, the page jumps to the box; without, it scrolls there."""
    asked = """const asked = []; const scroll = window.scrollTo;
        window.scrollTo = (how) => { asked.push(how.behavior); };
        krohn.find('story-begin').click();
        setTimeout(() => { window.scrollTo = scroll; arguments[0](asked); }, 1500)"""
    for value, behavior in (("reduce", "auto"), ("no-preference", "smooth")):
        try:
            media = [{"name": "prefers-reduced-motion", "value": value}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
            open_page(browser, pages)
            assert browser.execute_async_script(asked) == [behavior]
        finally:
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_page_in_a_frame_leaves_the_page_around_it_where_it_is(
    browser: Chrome, pages: Path, tmp_path: Path
) -> None:
    """The start page of the site shows the gallery in a frame, at an automaton of its address."""
    gallery = Path(__file__).parents[2] / "docs" / "gallery" / "explorer.html"
    around = tmp_path / "around.html"
    tall = '<div style="height: 3000px"></div>'
    around.write_text(f'{tall}<iframe src="{gallery.as_uri()}#S4" height="600"></iframe>{tall}')
    browser.get(around.as_uri())
    browser.switch_to.frame(0)
    settled = "setTimeout(() => arguments[0]([krohn.current.machine.name, scrollY]), 500)"
    name, inside = browser.execute_async_script(settled)
    browser.switch_to.default_content()
    assert name == "S4"
    assert inside > 0
    assert browser.execute_script("return scrollY") == 0
