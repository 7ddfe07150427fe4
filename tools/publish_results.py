"""Adds results from other stores to results/, as text files, and redraws the figures.

Run: python tools/publish_results.py STORE … [--no-figures]

Published results are read first; of two results for one replicate the better one stays.
A run is published with every experiment that plans it.
"""

import argparse
import tempfile
from itertools import product
from pathlib import Path

from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.record import conflict_lines
from krohn.lab.experiments.reproduction import reproduce
from krohn.lab.experiments.store import Store, export_text

RESULTS = Path(__file__).parents[1] / "results"


def gather(store: Store, stores: list[Path]) -> None:
    """Puts the published and then the new records into the store."""
    for path in (RESULTS, *stores):
        with Store(path, writable=False) as new:
            for line in conflict_lines(store.put(new.records(), new.members())):
                print(f"{path.name}: {line}")


def join(store: Store, name: str, scale: Scale) -> int:
    """Registers runs made for other experiments; returns how many planned runs have results."""
    planned = [run for run in EXPERIMENTS[name].plan(scale) if store.of_run(run.config.run_id)]
    store.put([], [run.member(name, scale) for run in planned])
    return len(planned)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stores", type=Path, nargs="*")
    parser.add_argument("--no-figures", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
        gather(store, options.stores)
        for name, scale in product(EXPERIMENTS, (Scale.SMALL, Scale.PAPER)):
            if not join(store, name, scale):
                for path in RESULTS.glob(f"{name}*-{scale}.*"):
                    path.unlink()
                continue
            count = export_text(store, RESULTS / f"{name}-{scale}.jsonl", experiment=name, scale=scale)
            result = reproduce(name, scale, store, figures=None if options.no_figures else RESULTS)
            done = result.report.done
            print(f"{name}, {scale}: {count} records, {done} of {result.report.runs} runs done")


if __name__ == "__main__":
    main()
