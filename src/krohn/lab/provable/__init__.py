"""Training runs as subjects of proof: all short words, proofs by boxes, fine-tuning for a proof."""
