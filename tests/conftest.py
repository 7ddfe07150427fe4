"""Tests on shared machines: a slow example is no failure, and workers side by side take one core each."""

import os

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch are loaded; commands inherit it
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("krohn", deadline=None)
settings.load_profile("krohn")

LONG = (
    "test_docs",
    "test_notebooks",
    "test_site",
    "test_extending",
    "test_cluster",
    "test_fuzz",
    "test_page",
)
"""Files with single tests of ten seconds and more."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests come first, so that no worker is left alone with one at the end."""
    items.sort(key=lambda item: item.path.stem not in LONG)
