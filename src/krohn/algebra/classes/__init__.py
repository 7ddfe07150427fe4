"""Named classes of regular languages, decided from the minimal automaton, with a witness of every no."""
