"""Proving: any kind of network, one claim, one certificate; witnesses and counterexamples are found here."""
