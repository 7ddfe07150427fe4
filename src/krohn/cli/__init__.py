"""The command line: parse, call, render. One file per command; errors are formatted in one place."""
