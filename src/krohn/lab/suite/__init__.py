"""Networks whose algorithm is known, with circuits, causal models and a scorer, for interpretability."""
