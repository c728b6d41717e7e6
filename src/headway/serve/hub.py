"""What does the Hugging Face hub have, and how does one file of it get here?"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

# A plain download has timeouts, resumes and ends with Ctrl-C; the other protocol keeps a second copy in a cache of its
# own. Read when the library loads.
os.environ.setdefault("HF_HUB_DISABLE_XET", "1")

import httpx2
from huggingface_hub import HfApi, constants, get_hf_file_metadata, hf_hub_download, hf_hub_url
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
)

from headway.serve.store import SourceFailed, verify

_log = logging.getLogger(__name__)
_SHA256 = re.compile(r"[0-9a-f]{64}")
PREFERRED = "Q4_0"  # fastest of the four-bit ones on processors
T = TypeVar("T")


class Hub:
    """The Hugging Face hub, or a mirror of it.

    Args:
        endpoint: its address; by default `HF_ENDPOINT`, else the public hub.
        patience: seconds to wait for an answer before the hub counts as unreachable; `HF_HUB_ETAG_TIMEOUT` goes before.
    """

    def __init__(self, endpoint: str | None = None, patience: float = 5.0) -> None:
        self.endpoint = (endpoint or constants.ENDPOINT).rstrip("/")
        asked = constants.HF_HUB_ETAG_TIMEOUT
        self._patience = patience if asked == constants.DEFAULT_ETAG_TIMEOUT else float(asked)

    def models(self, repository: str) -> list[str]:
        """Return the names of the GGUF models in a repository.

        Raises:
            SourceFailed: there is no such repository, or no answer.
        """
        api = HfApi(endpoint=self.endpoint)
        info = self._ask(repository, lambda: api.model_info(repository, timeout=self._patience))
        names = [file.rfilename for file in info.siblings or ()]
        return sorted(name for name in names if name.lower().endswith(".gguf") and not _is_projector(name))

    def fetch(self, repository: str, name: str, into: Path, sha256: str | None = None) -> Path:
        """Download one file into a folder and verify it; return its path there.

        Args:
            repository: owner and name.
            name: of the file in it.
            into: an empty folder.
            sha256: its content; by default what the hub says.

        Raises:
            SourceFailed: it is not there, no answer, or the content is another.
        """
        url = hf_hub_url(repository, name, endpoint=self.endpoint)
        about = self._ask(repository, lambda: get_hf_file_metadata(url, timeout=self._patience), name)
        said = about.etag or ""
        if not _SHA256.fullmatch(said):
            raise SourceFailed(f"the hub {self.endpoint} tells no SHA-256 of {repository}:{name}")
        if sha256 not in (None, said):
            raise SourceFailed(
                f"the hub {self.endpoint} has another {repository}:{name} (SHA-256 {said}) than {sha256}"
            )
        _log.info("fetching %s from %s:%s", _megabytes(about.size), repository, name)
        try:
            path = hf_hub_download(
                repository,
                name,
                revision=about.commit_hash,
                local_dir=into,
                endpoint=self.endpoint,
                etag_timeout=self._patience,
            )
        except (httpx2.HTTPError, OSError, RuntimeError, ValueError) as error:
            raise SourceFailed(f"the download from the hub {self.endpoint} failed ({_line(error)})") from None
        verify(Path(path), said, f"the hub {self.endpoint}")
        return Path(path)

    def _ask(self, repository: str, question: Callable[[], T], name: str | None = None) -> T:
        try:
            return _within(self._patience, question)
        except GatedRepoError:
            reason = f"{repository} is gated: accept its terms on the hub and set HF_TOKEN"
        except RepositoryNotFoundError:
            reason = f"the hub {self.endpoint} has no {repository}, or it is private (set HF_TOKEN)"
        except RemoteEntryNotFoundError:
            reason = f"{repository} has no file {name}"
        except HfHubHTTPError as error:
            reason = f"the hub {self.endpoint} answered {error.response.status_code} for {repository}"
        except OfflineModeIsEnabled:
            reason = "the hub is not asked, because HF_HUB_OFFLINE is set"
        except TimeoutError:
            reason = f"the hub {self.endpoint} did not answer within {self._patience:g} s"
        except (httpx2.HTTPError, OSError, ValueError) as error:
            reason = f"the hub {self.endpoint} cannot be reached ({_line(error)})"
        raise SourceFailed(reason)


def choose(names: Sequence[str], wanted: str | None = None) -> str | None:
    """Return which of several models is meant, or None when that is not clear.

    A file's own name counts as that file. A quantisation, such as `Q8_0`, counts as the one file that has it in its
    name. Without either it is the one in Q4_0, else the only one there is.
    """
    if wanted in names:
        return wanted
    found = [name for name in names if _is_quantised(name, wanted or PREFERRED)]
    if not (found or wanted):
        found = list(names)
    return found[0] if len(found) == 1 else None


def _is_quantised(name: str, kind: str) -> bool:
    """Whether a quantisation is a word of a file's name: Q4_0 is none in Q4_0_4_4."""
    return re.search(rf"(?<![a-z0-9]){re.escape(kind)}(?![a-z0-9_])", name, re.IGNORECASE) is not None


def _is_projector(name: str) -> bool:
    """Whether it holds no language model, but what turns images into its input."""
    return Path(name).name.lower().startswith("mmproj")


def _within(seconds: float, question: Callable[[], T]) -> T:
    """Return an answer, or give up: the library's timeouts count for each address and not for looking it up."""
    answer: Future[T] = Future()

    def ask() -> None:
        try:
            answer.set_result(question())
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
            answer.set_exception(error)

    threading.Thread(target=ask, daemon=True, name="headway-hub").start()
    return answer.result(seconds)


def _line(error: BaseException) -> str:
    """Return the first line of what the deepest cause says."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _megabytes(size: int | None) -> str:
    return "a model" if size is None else f"{size / 1e6:.0f} MB"
