"""Pictures of results: boxes, borders, captions, grids and the count curve. Needs records only, no torch.

    drawing.compare_grid([[unsteered, adaptive]]).save("compare.png")        # a row of results a prompt
    drawing.grid([[Cell(image, ("3/3",), exact=True)]], columns=["mine"])    # any pictures
    drawing.boxed(image, detections)                                         # one picture, with its boxes

Small pictures are enlarged by whole pixels, large ones reduced; words always stand outside the picture.
Right and wrong are a green and a vermillion that the colour-blind can tell apart, and a tick and a cross.
"""

from athena.drawing.figures import compare_grid, count_curve, counted, watch_picture
from athena.drawing.layout import grid
from athena.drawing.pictures import GREEN, RED, Cell, boxed, framed

__all__ = [
    "GREEN",
    "RED",
    "Cell",
    "boxed",
    "compare_grid",
    "count_curve",
    "counted",
    "framed",
    "grid",
    "watch_picture",
]
