"""Torch networks, independent of automata: R replicates side by side, weights stacked along axis 0."""
