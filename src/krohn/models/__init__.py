"""Torch networks that know nothing of automata: R replicates side by side, weights stacked along axis 0."""
