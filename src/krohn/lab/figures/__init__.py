"""Pictures: pure functions from plain tables to matplotlib figures, the same bytes every time."""
