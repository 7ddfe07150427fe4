"""Machines of others: each format gives arrows, and one way leads from arrows to an automaton."""
