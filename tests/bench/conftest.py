"""The command and a tiny pipeline on disk, as in tests/cli."""

from cli.conftest import counters, files, say, tiny  # noqa: F401
