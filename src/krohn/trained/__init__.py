"""What a trained network computes: exact counts, proofs for every length, the automaton it learned."""
