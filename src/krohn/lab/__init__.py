"""What needs torch: models, training, experiments and figures, interpretation, cards of layers, the suite."""
