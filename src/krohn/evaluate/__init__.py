"""What trained networks do: accuracy by length and distribution, attention heads, linear probes."""
