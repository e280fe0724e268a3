"""What a number was measured with: versions, hardware, the moment."""

from __future__ import annotations

import os
import platform
import sys
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "athena-t2i",
    "torch",
    "diffusers",
    "transformers",
    "accelerate",
    "numpy",
    "scipy",
    "pandas",
    "pillow",
)


def session(**more: Any) -> dict[str, Any]:
    return {
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": [Path(sys.argv[0]).name.replace("__main__.py", "athena"), *sys.argv[1:]],
        "versions": versions(),
        "hardware": hardware(),
        **more,
    }


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    found: dict[str, Any] = {"platform": platform.platform(), "cpu": cpu(), "cores": os.cpu_count()}
    torch = sys.modules.get("torch")  # whoever generates has it; nobody waits for it here
    if torch is not None:
        found["gpus"] = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return found


def cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in text.split("\n") if line.startswith("model name")]
    return names[0] if names else platform.processor()


def memory_mb(device: str) -> float:
    """The peak so far: of the GPU since it was last reset, else of this process."""
    if device.startswith("cuda"):
        import torch

        return round(torch.cuda.max_memory_allocated(device) / 2**20, 1)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def settle(device: str) -> None:
    """Wait for what the device still does, and measure its memory anew."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)


def gpus() -> list[str]:
    """One name a GPU, for one worker each."""
    import torch

    return [f"cuda:{i}" for i in range(torch.cuda.device_count())]
