"""Finite semiautomata: what they are, where they come from, how they run."""
