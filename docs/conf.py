"""The site: every page of this folder, the command line from the code, the gallery as it is."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from code_reference import write_reference  # noqa: E402  (beside this file)
from records import relinked, write_records  # noqa: E402

from krohn import __version__  # noqa: E402

project = "krohn"
author = "The krohn developers"
copyright = author
release = __version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["gallery"]
html_theme = "furo"
html_title = "krohn"
html_extra_path = ["gallery"]
html_static_path = ["static"]
html_css_files = ["figures.css"]
html_show_sphinx = False
html_show_copyright = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["toc.not_included"]  # records are reached from records.md, decisions from their index

write_reference(HERE / "reference")
write_records()


def setup(app):
    """Links from a page to a record lead to the site's page of it."""

    def relink(app, name, source):
        page = HERE / f"{name}.md"
        if page.parent.name not in {"records", "reference"}:
            source[0] = relinked(source[0], page, page)

    app.connect("source-read", relink)
