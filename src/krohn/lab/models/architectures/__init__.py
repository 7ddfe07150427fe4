"""One file per architecture; each defines ``ARCHITECTURE``, which the registry discovers."""
