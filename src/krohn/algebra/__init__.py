"""The algebra of an automaton: its transition semigroup, its groups, its circuit complexity."""
