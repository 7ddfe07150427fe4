"""From a program to matrices: one file per gadget, an allocator for channels, and the assembly."""
