"""The only room that touches diffusers: sampling stopped, resumed, steered and looked at."""

from athena.driver.driver import Driver
from athena.driver.entry import Request, Steering, TooManyRows
from athena.driver.parts import denoisers, is_texts
from athena.driver.pictures import as_pictures
from athena.driver.snapshot import Row, State
from athena.driver.taps import stepping, untouched

__all__ = [
    "Driver",
    "Request",
    "Row",
    "State",
    "Steering",
    "TooManyRows",
    "as_pictures",
    "denoisers",
    "is_texts",
    "stepping",
    "untouched",
]
