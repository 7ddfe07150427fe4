"""Recurrent architectures: which can track an automaton, and weights that do, for words of every length."""
