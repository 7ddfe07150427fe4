"""Krohn–Rhodes: any automaton as a checked cascade of permutation-reset components."""
