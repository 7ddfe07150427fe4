"""One file per architecture; each defines ``ARCHITECTURE`` and is found by the registry."""
