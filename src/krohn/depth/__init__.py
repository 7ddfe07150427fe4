"""How many layers an automaton needs at least: witnesses, their search, and an independent check."""
