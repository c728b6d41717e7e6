"""`headway serve` on a fake backend, as a process of its own: python -m tests.serve.fake_server CONFIG.toml"""

from __future__ import annotations

import sys
from pathlib import Path

from headway.core.cost import Piecewise
from headway.serve.config import config_of
from headway.serve.run import listen, serve
from headway.testing.fake_backend import FakeBackend


def main() -> int:
    config = config_of(Path(sys.argv[1]), {})
    backend = FakeBackend(
        lambda prompt: "z" * 300,
        kv_tokens=config.kv_tokens,
        slots=config.slots,
        budget=config.token_budget,
        cost=Piecewise(0.005, 0.0),
    )
    return serve(config, backend, listen(config.host, config.port))


if __name__ == "__main__":
    sys.exit(main())
