"""Hold any pipeline to what ATHENA promises: `print(athena.testing.conformance(pipe))`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from athena.errors import PipelineError, UnknownName
from athena.testing.checks import CHECKS, NAMES
from athena.testing.report import Check, Report
from athena.testing.subject import Failed, Subject, in_short

__all__ = ["NAMES", "Check", "Report", "conformance"]


def conformance(pipe: Any, **call: Any) -> Report:
    """Run every check on a loaded diffusers pipeline; `call` is what its own call needs beside the prompt.

    A check that fails, whatever the error, stands in the report with its reason. Left to itself it takes four
    steps on the smallest picture the pipeline makes, so even a large model is done in minutes.
    """
    subject = Subject(pipe, call)
    with suppress(PipelineError):  # the first check tells of that
        for slip in [name for name in call if not subject.driver.knows(name)]:
            raise UnknownName("setting", slip, {*subject.taken} - {"self", "args", "kwargs"})
    checks: list[Check] = []
    for name in NAMES:
        reached = not checks or checks[0].passed
        checks.append(judged(subject, name) if reached else Check(name, None, "not reached"))
    return Report(type(pipe).__name__, tuple(checks))


def judged(subject: Subject, name: str) -> Check:
    try:
        return Check(name, True, CHECKS[name](subject) or "")
    except Failed as failed:
        return Check(name, False, str(failed))
    except Exception as error:  # a stranger's pipeline may raise anything: that is what is to be told
        return Check(name, False, in_short(error))
