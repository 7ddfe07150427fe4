"""The operations of the networks: a reference in plain torch, and fast kernels in Triton."""
