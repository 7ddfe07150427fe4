"""From a program to matrices: heads, units, and the assembly with its channels."""
