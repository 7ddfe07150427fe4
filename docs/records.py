"""Tables and records of results/ and research/ as pages of the site, so that links to them stay inside it."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")


def record_pages() -> dict[Path, Path]:
    """Each record of the repository, and the page that the site has of it."""
    found = [*ROOT.glob("results/*.md"), *ROOT.glob("results/*/*.md"), *ROOT.glob("research/*.md")]
    return {path: ROOT / "docs" / "records" / _page_name(path) for path in found}


def write_records() -> None:
    """Writes the pages that are not there yet or say something else, and removes those of no record."""
    pages = record_pages()
    folder = ROOT / "docs" / "records"
    folder.mkdir(exist_ok=True)
    for old in set(folder.glob("*.md")) - set(pages.values()):
        old.unlink()
    for record, page in pages.items():
        text = relinked(record.read_text(encoding="utf-8"), record, page)
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def relinked(text: str, written_at: Path, shown_at: Path) -> str:
    """The text with its relative links as they must be where it is shown."""
    pages = record_pages()

    def new_target(match: re.Match[str]) -> str:
        aim = Path(os.path.normpath(written_at.parent / match[1]))
        if not aim.exists():
            return match[1]
        return Path(os.path.relpath(pages.get(aim, aim), shown_at.parent)).as_posix()

    return LINK.sub(new_target, text)


def _page_name(record: Path) -> str:
    return f"{record.parent.name}.md" if record.name == "README.md" else record.name
