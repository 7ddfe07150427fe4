"""``python -m krohn`` is the ``krohn`` command."""

from krohn.cli.app import entry_point

if __name__ == "__main__":
    entry_point()
