"""What is done to boxes before they are counted: pure functions from supervision.Detections to fewer of them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import supervision as sv

INSIDE = 0.9
"""The part of a box's area that must lie in another for it to be inside."""


def supervision() -> Any:
    """Imported without its warning that there is no OpenCV: nothing here needs it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import supervision
    return supervision


def within(found: sv.Detections, size: tuple[int, int]) -> sv.Detections:
    """Cut to the image, of (width, height); what lies outside altogether is dropped."""
    cut = replace(found, xyxy=supervision().clip_boxes(found.xyxy, size))
    return cut.select(areas(cut) > 0)


def areas(found: sv.Detections) -> Any:
    return (found.xyxy[:, 2] - found.xyxy[:, 0]) * (found.xyxy[:, 3] - found.xyxy[:, 1])


def drop_duplicates(found: sv.Detections, iou: float = 0.7) -> sv.Detections:
    """Non-maximum suppression, each label by itself."""
    return found.with_nms(iou, class_agnostic=False)


def drop_groups(found: sv.Detections, inside: float = INSIDE, least: int = 2) -> sv.Detections:
    """Without the boxes round two or more others of their label: "three apples", seen as one and as three.

    Two boxes inside each other are one thing seen twice, not a group.
    """
    import numpy as np

    if len(found) <= least:
        return found
    x1, y1, x2, y2 = found.xyxy.T
    width = np.minimum.outer(x2, x2) - np.maximum.outer(x1, x1)
    height = np.minimum.outer(y2, y2) - np.maximum.outer(y1, y1)
    shared = width.clip(0) * height.clip(0)
    holds = shared >= inside * areas(found)[None, :]  # [i, j]: j is inside i
    holds &= ~holds.T
    if found.class_id is not None:
        holds &= np.equal.outer(found.class_id, found.class_id)
    return found.select(holds.sum(axis=1) < least)
