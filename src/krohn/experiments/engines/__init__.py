"""Where runs are made: on this machine, or on a Ray cluster."""
