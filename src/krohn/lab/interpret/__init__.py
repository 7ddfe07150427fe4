"""What networks compute: variables by intervention, heads, and the automaton extracted."""
