"""Patterns of Python's `re` as automata: parsed by it, read over classes of characters."""
