"""What the checker reads: bounded files, folders of each kind, automata and networks."""
