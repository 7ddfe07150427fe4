"""Numbers that the checker trusts: formats, intervals, sums in any order, affine forms."""
