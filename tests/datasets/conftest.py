"""The command, as in tests/cli."""

from cli.conftest import say  # noqa: F401
