"""Counting objects in images: a function of an image and a noun.

counter = athena.counters.load("grounding-dino")
counter([image], ["apple"])                              # one supervision.Detections an image
athena.Athena(pipe, lambda image, noun: my_count(image, noun))    # any function is a counter too
"""

from athena.counters.base import Counter, FunctionCounter, Scripted, apart, as_counter, count
from athena.counters.detector import Detector
from athena.counters.loading import DETECTORS
from athena.counters.registry import COUNTERS, find, load
from athena.counters.settings import DEFAULT, PAPER, SETTINGS, Settings

__all__ = [
    "COUNTERS",
    "DEFAULT",
    "DETECTORS",
    "PAPER",
    "SETTINGS",
    "Counter",
    "Detector",
    "FunctionCounter",
    "Scripted",
    "Settings",
    "apart",
    "as_counter",
    "count",
    "find",
    "load",
]
