"""Property tests on shared machines: a slow example is no failure."""

from hypothesis import settings

settings.register_profile("krohn", deadline=None)
settings.load_profile("krohn")
