"""The trusted part: weights, automaton, dtype, length and witness go in, a verdict comes out."""
