"""Tests on shared machines: a slow example is no failure, and workers side by side take one core each."""

import gc
import os
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch are loaded; commands inherit it
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Hundreds of commands are started, and each would compile the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
if "PYTHONPATH" in os.environ:  # of a run from the sources: commands are started in other folders
    os.environ["PYTHONPATH"] = os.pathsep.join(
        map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep))
    )

import kept_networks  # noqa: E402 - after the number of threads is set

settings.register_profile("krohn", deadline=None)
settings.load_profile("krohn")

LONG = (
    *("test_docs", "test_notebooks", "test_site", "test_cluster", "test_fuzz", "test_reproduction"),
    *("test_certificates", "test_transformers", "test_telling_apart", "test_resume", "test_golden"),
)
"""Files with single tests of about ten seconds and more."""

SLOW = (
    *("coq", "explorer", "golden", "suite"),
    *("test_site", "test_notebooks", "test_docs", "test_wheel", "test_cluster", "test_extending"),
    *(
        "test_fuzz",
        "test_hostile_files",
        "test_hostile_jff",
        "test_hostile_machines",
        "test_imports_of_training",
        "test_figures",
    ),
    *("test_reproduction", "test_resume", "test_telling_apart", "test_interrupted_sweep"),
    *("test_claims", "test_publish", "test_held_out", "test_learned_depth", "test_take_offs"),
    *("test_two_optimisers", "test_size_table"),
    # Campaigns against the checker: generated and mutated networks, forged witnesses, whole formats.
    *("test_containment", "test_completeness", "test_toy_formats", "test_lies", "test_off_by_one"),
    *("test_one_less", "test_one_less_elsewhere", "test_one_hypothesis_less", "test_order", "test_budgets"),
    *("test_deceivers", "test_scan_deceivers", "test_norm_deceiver", "test_unread", "test_other_automata"),
    *("test_planted_bugs", "test_planted_gadgets", "test_mutants", "test_arbitrary_networks"),
    *("test_descriptions_fit", "test_margins", "test_refutations", "test_boxes", "test_norm"),
    *("test_eight_constructions", "test_interruption"),
)
"""Folders and files of ``make slow``: other programs, kept bytes, pages, scripts of tools, campaigns."""

SLOW_TESTS = (
    "mutant",
    "test_the_demo_fits_on_a_screen",
    "test_hard_families_are_answered_within_their_units",
    "test_a_letter_of_more_steps_than_a_chunk_has_none",
    "test_plugins.py::test_a_family_and_a_format_of_another_package_work_like_our_own",
    "test_registry.py::test_the_documented_file_trains_from_the_command_line_once_it_is_installed",
)
"""Single tests of ``make slow``, by a part of their names: campaigns, and packages that are installed."""

ATTACKS = (
    "test_what_coq_accepts_after_a_flipped_bit_is_right",
    "test_what_is_accepted_after_a_flipped_bit_is_right",
    "test_heads_that_pick_places_and_two_counters_in_one_channel",
    "test_without_one_hypothesis_no_match_is_accepted",
    "test_what_is_accepted_after_a_change_is_right",
    "test_grid4_is_certified_by_the_whole_path",
    "test_a_trained_lstm_is_certified",
    "test_scanning.py::test_without_one_hypothesis_nothing_is_accepted",
    "test_docs.py::test_commands_in_the_documentation_succeed[kernel.md-0",
    "proving/test_mutants.py::test_no_wrong_mutant_is_certified",
    "recurrent/test_lacking.py::test_no_mutant_of_unread_silent_or_cancelled_parts",
    # Of a campaign ``make slow`` runs a few samples, and ``make attacks`` the rest.
    *("[rest]", "[rest-", "-rest]", "[with the rest]"),
)
"""Long attacks on checker and Coq: ``make attacks`` runs them, continuous integration does not."""


KEPT = kept_networks.install()


NEEDS = {
    "test_site": "sphinx",
    "test_notebooks": "nbclient",
    "explorer": "selenium",
    **dict.fromkeys(("test_readers", "test_in_transformer_lens"), "transformer-lens"),
    "test_regular": "automata-lib",
    "test_objects": "aalpy",
    "test_wheel": "hatchling",
}
"""Files and folders that cannot run without a package of an extra."""

NEEDED_BY_TESTS = {
    "a cluster": ("ray", ("test_cluster.py::test_every_run_is_finished_once_though_a_node_dies",)),
}
"""What single tests call, the package that it needs, and parts of the names of those tests."""


def missing() -> dict[str, str]:
    """The tests that are skipped here, and the packages they need."""
    return {name: package for name, package in NEEDS.items() if not _is_there(package)}


@cache
def _is_there(package: str) -> bool:
    """Whether it is installed; to look for the module instead would import its parents."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


class LeftOut(pytest.Module):
    """A file that cannot run here, named on the command line or found: skipped before it is imported."""

    def collect(self) -> list[pytest.Item]:
        package = missing()[_name_of(self.path)]
        pytest.skip(f"{self.path.stem} needs {package}, which is not installed (make setup)")


def _name_of(path: Path) -> str:
    """The name under which a file's needs are listed: its own or its folder's."""
    return path.stem if path.stem in NEEDS else path.parent.name


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """What cannot run is skipped; the summary names it once more."""
    return LeftOut.from_parent(parent, path=module_path) if _name_of(module_path) in missing() else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files that hold none of the tests that are asked for are not even imported."""
    asked, is_test = config.option.markexpr, collection_path.name.startswith("test_")
    if asked.startswith("not slow"):
        return True if _is_slow(collection_path) else None
    if asked.startswith("slow") and is_test and collection_path.suffix == ".py":
        return None if _is_slow(collection_path) or _has_slow_tests(collection_path) else True
    return None


@cache
def _has_slow_tests(path: Path) -> bool:
    """Whether the text or the path of a file has what makes a test slow."""
    text = f"{path}\n{path.read_text(encoding='utf-8')}"
    return any(part in text for part in ("mark.slow", *(name.rpartition("::")[2] for name in SLOW_TESTS)))


def _is_slow(path: Path) -> bool:
    return path.stem in SLOW or path.parent.name in SLOW


def left_out(name: str) -> str | None:
    """Why the test of this name cannot run here."""
    for what, (package, parts) in NEEDED_BY_TESTS.items():
        if any(part in name for part in parts) and not _is_there(package):
            return f"{what} needs {package}, which is not installed (make setup)"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The last lines name what was left out: a green run without it is not the whole suite."""
    calls = {f"tests of {what}": package for what, (package, _) in NEEDED_BY_TESTS.items()}
    for name, package in {**missing(), **{k: v for k, v in calls.items() if not _is_there(v)}}.items():
        terminalreporter.write_line(f"NOT RUN: {name}, for {package} is not installed (make setup)", red=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that only use networks share them; those of the compiler and of commands compile anew."""
    KEPT.on = item.nodeid.removeprefix("tests/").startswith(kept_networks.USERS)


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: the garbage collector need not look at it again and again."""
    gc.freeze()


def _in_parts(item: pytest.Item, names: tuple[str, ...]) -> bool:
    """Whether the test's name contains one of these."""
    return any(name in item.nodeid for name in names)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests come first, so that no worker is left alone with one at the end.

    Single tests that cannot run for want of a package are skipped with the reason.
    """
    for item in items:
        reason = left_out(item.nodeid)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
        if _is_slow(item.path) or _in_parts(item, SLOW_TESTS):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow") and not (_is_slow(item.path) or _has_slow_tests(item.path)):
            raise pytest.UsageError(f"make slow would leave out {item.nodeid}, whose file does not say so")
        if _in_parts(item, ATTACKS):
            item.add_marker(pytest.mark.attack)
    items.sort(key=lambda item: item.path.stem not in LONG)
