"""The certificate: from the weights alone, right on every word of length ≤ T in a given arithmetic."""
