"""Makes the table of trained networks that krohn ships, and the figure, from the rows in results.

Run: python tools/atlas_networks.py
"""

from pathlib import Path

from krohn.lab.experiments.atlas import reproduce_atlas, write_small_table

ROOT = Path(__file__).parents[1]

if __name__ == "__main__":
    write_small_table(ROOT / "results" / "atlas", ROOT / "src" / "krohn" / "construct" / "atlas.csv")
    reproduce_atlas("small", ROOT / "results" / "atlas", run=False, figures=ROOT / "results")
