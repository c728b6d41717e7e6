"""Where drawings go: to a file that is whole or not there."""

from headway.files import write_whole

__all__ = ["write_whole"]
