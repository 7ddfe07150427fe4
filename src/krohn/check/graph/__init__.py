"""Networks as the operators that run: the file of a graph, its numbers in float32, and proofs about them."""
