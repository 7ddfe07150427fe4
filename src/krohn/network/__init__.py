"""The Transformer as the paper defines it: explicit matrices, a plain forward pass, a file format."""
