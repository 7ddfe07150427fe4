"""The training engine: many replicates of one small network at once."""
