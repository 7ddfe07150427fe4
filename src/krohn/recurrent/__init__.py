"""Recurrent architectures: which can track an automaton, weights that do, proofs for every length."""
