"""The automata of the gallery: the 19 of the paper, from the smallest to the deepest."""

GALLERY = (
    *("Grid4", "Grid9", "Dyck4,2"),
    *(f"C{order}" for order in range(2, 9)),
    *("C2xC2", "C2xC2xC2", "D6", "D8", "Q8", "A4", "S4", "A5", "S5"),
)
