"""The rules for Transformers: heads, MLPs, machines, scans, LayerNorm, the read-out."""
