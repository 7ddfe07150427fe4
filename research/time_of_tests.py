"""Where the processor time of the tests goes: by test, commands that it starts included, and by function.

    python research/time_of_tests.py tests/lab/experiments
    python research/time_of_tests.py tests --top 60 --profile suite.prof

Times are processor seconds, so that other work on the machine does not count; the profiler itself makes
Python code slower by a factor of about two. A function that many tests share is seen only here.
"""

import argparse
import cProfile
import os
import pstats
import sys

import pytest


class Times:
    """A pytest plugin: own and child processor seconds of each test, and a profile of all of them."""

    def __init__(self) -> None:
        self.profile = cProfile.Profile()
        self.spent: list[tuple[float, float, str]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        before = os.times()
        self.profile.enable()
        try:
            return (yield)
        finally:
            self.profile.disable()
            after = os.times()
            own = after.user + after.system - before.user - before.system
            child = after.children_user + after.children_system
            child -= before.children_user + before.children_system
            self.spent.append((own, child, item.nodeid[:150]))


def main() -> int:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("tests", nargs="+", help="files, folders or single tests, as pytest takes them")
    parser.add_argument("--top", type=int, default=25, help="how many of each are shown")
    parser.add_argument("--profile", help="write the profile to this file too")
    options = parser.parse_args()
    times = Times()
    status = pytest.main(["-q", "-p", "no:cacheprovider", *options.tests], plugins=[times])
    print(f"\n{'own s':>7} {'child s':>7}  test")
    for own, child, name in sorted(times.spent, key=lambda row: -row[0] - row[1])[: options.top]:
        print(f"{own:7.2f} {child:7.2f}  {name}")
    own, child = (sum(row[part] for row in times.spent) for part in (0, 1))
    print(f"{own:7.2f} {child:7.2f}  all {len(times.spent)}\n")
    for key in ("tottime", "cumtime"):
        pstats.Stats(times.profile).sort_stats(key).print_stats(options.top)
    if options.profile:
        times.profile.dump_stats(options.profile)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
