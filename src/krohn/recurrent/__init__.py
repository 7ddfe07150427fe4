"""Recurrent architectures: which of them can track an automaton, weights that do, proofs for every length."""
