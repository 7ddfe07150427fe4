"""What networks compute: variables by intervention, heads, prefixes, and the automaton extracted."""
