"""Constructions: automata to explicit weights."""
