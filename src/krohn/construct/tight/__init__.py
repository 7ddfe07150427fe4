"""The tight compiler: integer registers, one head per abelian section and per reset level, small tables."""
