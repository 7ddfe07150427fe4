"""The constructions of the paper's appendix, one lemma per file, corrected where the printed text fails."""
