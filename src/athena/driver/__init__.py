"""The only room that touches diffusers: sampling stopped, resumed, steered and looked at."""

from athena.driver.driver import Driver
from athena.driver.entry import Request, Steering, TooManyRows
from athena.driver.parts import denoisers, own_of_each
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
    "own_of_each",
    "stepping",
    "untouched",
]
