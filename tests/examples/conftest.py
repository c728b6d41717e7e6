"""The command line in process, as in its own tests."""

from tests.cli.conftest import folder, headway

__all__ = ["folder", "headway"]
