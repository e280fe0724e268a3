"""What a conformance run found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Check:
    name: str
    passed: bool | None  # None: not reached
    detail: str = ""  # why it failed, or what is worth knowing though it passed

    @property
    def word(self) -> str:
        return {True: "pass", False: "FAIL", None: "-"}[self.passed]


@dataclass(frozen=True)
class Report:
    """Prints as a table."""

    pipeline: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "pipeline": self.pipeline,
            "passed": self.passed,
            "checks": [asdict(check) for check in self.checks],
        }

    def __str__(self) -> str:
        wide = max(len(check.name) for check in self.checks)
        lines = [f"{c.name:{wide}}  {c.word:4}  {c.detail}".rstrip() for c in self.checks]
        good = sum(check.passed is True for check in self.checks)
        return "\n".join([self.pipeline, *lines, f"{good} of {len(self.checks)} checks passed"])
