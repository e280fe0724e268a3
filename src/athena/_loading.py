"""Between a name and a pipeline: devices, dtypes, folders, and what the hub's refusals mean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from athena.errors import LoadError, SettingsError, UnknownName

if TYPE_CHECKING:
    import torch

_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32", "float": "float32"}


def find_device(device: str | torch.device) -> torch.device:
    import torch

    if device == "auto":
        mps = torch.backends.mps.is_available()
        return torch.device("cuda" if torch.cuda.is_available() else "mps" if mps else "cpu")
    try:
        where = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise SettingsError(f'no device is called "{device}": auto, cuda, cuda:1, mps or cpu') from error
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available.get(where.type, True):
        raise SettingsError(
            f'device "{device}" is not available to this torch ({torch.__version__}); use "auto"'
        )
    return where


def find_dtype(dtype: str | torch.dtype) -> torch.dtype:
    import torch

    if isinstance(dtype, torch.dtype):
        return dtype
    known = {name: getattr(torch, name) for name in ("bfloat16", "float16", "float32", "float64")}
    name = _DTYPES.get(dtype, dtype)
    if name not in known:
        raise UnknownName("dtype", dtype, [*known, *_DTYPES])
    found: torch.dtype = known[name]
    return found


def check_folder(folder: Path) -> None:
    if not folder.exists():
        raise LoadError(f"there is no folder {folder}; a hub id has the shape owner/name")
    if folder.is_file():
        raise LoadError(
            f"{folder} is a file, not a diffusers folder. Load it with the pipeline's from_single_file "
            "and hand the result to athena.Athena(pipe)"
        )
    if not (folder / "model_index.json").is_file():
        raise LoadError(
            f"{folder} has no model_index.json, so it is not a pipeline that diffusers saved; "
            "expected the folder that pipe.save_pretrained(...) wrote"
        )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def explained(
    error: Exception, source: str, *, local: bool, licence: str = "", gated: bool = False, role: str = "model"
) -> LoadError:
    """The error that says what went wrong between us, the hub and the disk, and what to type next."""
    from huggingface_hub import errors as hub

    causes = list(_causes(error))
    statuses = {e.response.status_code for e in causes if isinstance(e, hub.HfHubHTTPError)}

    def met(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    page = f"https://huggingface.co/{source}"
    if local:
        return LoadError(f"{source} could not be loaded by diffusers: {error}")
    if met(hub.GatedRepoError) or 403 in statuses or (gated and 401 in statuses):
        named = f" ({licence})" if licence else ""
        return LoadError(
            f"{source} wants its licence accepted first{named}: open {page}, agree, "
            "then run `hf auth login` here (or set HF_TOKEN)"
        )
    if met(hub.RevisionNotFoundError):
        return LoadError(f"{source} has no such revision; see {page}/tree/main for those there are")
    if met(hub.RepositoryNotFoundError):
        return LoadError(
            f"the hub knows no model {source}, or it is private ({page}); if private, `hf auth login`"
        )
    # The hub's clients (requests, httpx, httpx2) do not share a class for "no network".
    network = any(type(e).__module__.startswith(("requests", "httpx", "httpcore", "socket")) for e in causes)
    if network or met(hub.LocalEntryNotFoundError, hub.OfflineModeIsEnabled, ConnectionError, TimeoutError):
        reason = "the hub cannot be reached" if network else "the hub was not asked (offline mode)"
        return LoadError(
            f"the {role} {source} is not on this disk, and {reason}. Where there is a network, run "
            f"`hf download {source}`; then give that folder's path as the {role}, or set HF_HOME to the cache "
            "that has it (local_files_only=True never asks the network)"
        )
    return LoadError(f"{source} could not be loaded: {error}")
