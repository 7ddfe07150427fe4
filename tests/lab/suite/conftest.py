from pathlib import Path

import pytest

import krohn

NAMES = ("c2-cascade-plain", "c2-cascade-rotated", "flipflop-cascade-rotated")


@pytest.fixture(scope="session")
def suite_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three small networks of the suite."""
    out = tmp_path_factory.mktemp("suite")
    krohn.suite.build(out, NAMES)
    return out


@pytest.fixture(params=NAMES)
def folder(suite_folder: Path, request: pytest.FixtureRequest) -> Path:
    return suite_folder / request.param
