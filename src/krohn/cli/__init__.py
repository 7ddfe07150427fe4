"""The command line: parse, call, render. One file per command; errors are turned into text in one place."""
