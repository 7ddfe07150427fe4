"""Device kernels of the optimiser."""
