"""Prompt sets: the published ones, the embedded models' own, and any file of yours; records, checks, builders.

datasets.load("mini", split="test")     # made here; knows what the embedded models can draw
datasets.load("cococount-e")            # from its published repository, once, checked by SHA-256
datasets.load("mine.jsonl")             # {"prompt": "two cats"} a line is enough: the rest is read from it
"""

from athena.datasets.build import cococount_e, deduplicated
from athena.datasets.check import Violation, check
from athena.datasets.entries import Entry, entry, read, write
from athena.datasets.load import NAMES, SPLITS, load
from athena.datasets.make import make
from athena.datasets.mini import mini
from athena.datasets.published import PUBLISHED, folder
from athena.datasets.spec import SPECS

__all__ = [
    "NAMES",
    "PUBLISHED",
    "SPECS",
    "SPLITS",
    "Entry",
    "Violation",
    "check",
    "cococount_e",
    "deduplicated",
    "entry",
    "folder",
    "load",
    "make",
    "mini",
    "read",
    "write",
]
