"""From an automaton to training batches, drawn on the device from counters."""
