"""Write what the commands of the documentation print now into it: `python -m tests.docs.rewrite`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.docs.blocks import PAGES, blocks, furnish, refreshed


def rewrite(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for block in reversed(blocks(page, "console")):
        text = text[: block.start] + refreshed(block) + text[block.end :]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        furnish(Path(folder))
        for page in PAGES:
            rewrite(page)
