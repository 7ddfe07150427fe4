"""What networks do: measured, counted and proved; their automata extracted, their variables intervened on."""
