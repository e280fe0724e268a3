"""The published sets: from a local folder, or once from their repositories at a pinned commit."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from athena.errors import LoadError

SECONDS = 20  # to wait for a server


@dataclass(frozen=True)
class Published:
    """One file at one commit."""

    file: str  # its name here
    repository: str
    commit: str
    path: str
    sha256: str
    size: int  # prompts

    @property
    def address(self) -> str:
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.path}"


_ATHENA = ("MShahabSepehri/ATHENA", "0510687a2c244297725cf759485d766b9a939a68")
_COUNTGEN = ("Litalby1/make-it-count", "bd9d57441a487f260c22f77590804539af076765")
PUBLISHED = {
    "cococount": Published(
        "CoCoCount.json",
        *_ATHENA,
        "datasets/CoCoCount.json",
        "6431efb485d388207633d909fc5be8331a9fc03fdc8ea30cb51b952c4302dd59",
        161,
    ),
    "cococount-e": Published(
        "CoCoCount_E.json",
        *_ATHENA,
        "datasets/CoCoCount_E.json",
        "8e74dd7825a155abfe859892da27d96d03b9d38ade6be4f6460f0d45fb707a22",
        648,
    ),
    "athena": Published(
        "ATHENA.json",
        *_ATHENA,
        "datasets/ATHENA.json",
        "87535fa4566fe072b987fe0c258bb7076ed3dcc85d86ce82558e9e6e10ab415a",
        360,
    ),
    "cococount-200": Published(
        "CoCoCount-original-200.json",
        *_COUNTGEN,
        "dataset/CoCoCount.json",
        "87b903524dfe98c596bc77f22f9864faea4713b9971eea4d3e7ebfe25edde778",
        200,
    ),
}


def folder() -> Path:
    """Where the published files are kept: $ATHENA_DATASETS, else the user's cache."""
    own = os.environ.get("ATHENA_DATASETS")
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(own or f"{cache}/athena/datasets").expanduser()


def path_of(name: str) -> Path:
    """The file of a published set, checked; downloaded first where it is not there."""
    known = PUBLISHED[name]
    file = folder() / known.file
    if not file.is_file():
        _keep(_verified(_fetched(known, file), known, known.address), file)
        return file
    _verified(file.read_bytes(), known, str(file))
    return file


def _verified(content: bytes, known: Published, where: str) -> bytes:
    got = sha256(content).hexdigest()
    if got != known.sha256:
        raise LoadError(
            f"{where} is not the published {known.file}: expected SHA-256 {known.sha256}, got {got}. "
            f"Delete it and it is fetched again; a file of your own goes by its path, as in ./{known.file}"
        )
    return content


def _fetched(known: Published, file: Path) -> bytes:
    try:
        return fetch(known.address)
    except OSError as error:
        raise LoadError(
            f"{known.file} is not in {file.parent}, and {known.address} cannot be reached ({error}). "
            f"Fetch it where there is a network and put it there: {file}"
        ) from error


def fetch(address: str) -> bytes:
    """The bytes behind an address; an OSError when that fails."""
    from urllib.request import urlopen

    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        raise OSError("HF_HUB_OFFLINE is set")
    with urlopen(address, timeout=SECONDS) as answer:
        content: bytes = answer.read()
    return content


def _keep(content: bytes, file: Path) -> None:
    """Whole or not at all: another process may be looking."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as temporary:
            temporary.write(content)
        os.replace(temporary.name, file)
    except OSError as error:
        raise LoadError(
            f"cannot write into {file.parent}: {error.strerror}; name another folder with ATHENA_DATASETS"
        ) from error
