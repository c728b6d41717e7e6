"""Structured logs: a JSON object a line. Prompts, answers and keys are never handed to a logger."""

from __future__ import annotations

import logging.config


def configure(level: str) -> None:
    """Write everything from `level` on to standard error, uvicorn's messages included."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "json": {
                    "()": "pythonjsonlogger.json.JsonFormatter",
                    "fmt": "%(asctime)s %(levelname)s %(name)s %(message)s",
                    "rename_fields": {"asctime": "time", "levelname": "level", "name": "logger", "message": "event"},
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
            "root": {"level": level.upper(), "handlers": ["stderr"]},
            "loggers": {
                # Each request has a line of ours; uvicorn's own would be a second one.
                "uvicorn.access": {"level": "WARNING"},
                # Its tracebacks may quote what a client sent; what fails has a line of ours.
                "uvicorn.error": {"level": "CRITICAL"},
                "httpx": {"level": "WARNING"},
            },
        }
    )
