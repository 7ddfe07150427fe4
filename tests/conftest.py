"""Tests on shared machines: a slow example is no failure, and workers side by side take one core each."""

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch are loaded; commands inherit it
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("krohn", deadline=None)
settings.load_profile("krohn")
