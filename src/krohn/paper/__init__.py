"""The paper as printed, corrected where the text fails: Theorems 1 to 3, lemmas, bounds, circuits."""
