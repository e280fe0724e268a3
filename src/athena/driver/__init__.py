"""The only room that touches diffusers: sampling stopped, resumed, steered and looked at."""

from athena.driver.driver import Driver
from athena.driver.entry import Request, Steering, TooManyRows
from athena.driver.pictures import as_pictures
from athena.driver.snapshot import Row, State

__all__ = ["Driver", "Request", "Row", "State", "Steering", "TooManyRows", "as_pictures"]
