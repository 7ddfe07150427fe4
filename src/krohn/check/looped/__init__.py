"""Rules for one block that is looped: finite codes."""
