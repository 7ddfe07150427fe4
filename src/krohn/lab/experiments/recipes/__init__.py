"""One file for each experiment: the runs, the table, the figures."""
