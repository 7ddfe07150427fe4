"""The card of a layer: what it can track by theorem, what it learned, and up to which length it holds."""
