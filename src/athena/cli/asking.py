"""Prompts from the command line, a file or stdin."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from athena import models
from athena.errors import PromptError, SettingsError
from athena.prompts import CountPrompt, parse_prompt


class Ask(NamedTuple):
    prompt: CountPrompt
    seed: int


def read(
    given: list[str] | None, file: str | None, object: str | None, count: int | None, seed: int, model: str
) -> list[Ask]:
    """Every prompt, checked: nothing is loaded before all of them can be understood."""
    preset = models.find(model)

    def ask(text: str, noun: str | None, many: int | None, noise: int) -> Ask:
        preset.check(text)
        return Ask(parse_prompt(text, noun, many), noise)

    given = given or []
    try:
        asks = [ask(text, object, count, seed) for text in given]
    except PromptError as error:
        whole = " ".join(given)
        if len(given) < 2 or " " in "".join(given):
            raise
        raise PromptError(f'{error} A prompt of several words goes in quotes: "{whole}".') from error
    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        try:
            entry = _entry(line)
            noun, many = entry.get("object") or object, entry.get("count", count)
            asks.append(ask(entry["prompt"], noun, many, _seed(entry.get("seed", seed))))
        except (PromptError, SettingsError) as error:
            where = "stdin" if file == "-" else file
            raise type(error)(f"{where}, line {number}: {error}") from error
    if not asks:
        raise PromptError(
            'no PROMPT: give one, as in "a photo of seven apples", or --prompts FILE with one a line (- is stdin).'
        )
    return asks


def _lines(file: str | None) -> list[str]:
    if file is None:
        return []
    try:
        text = sys.stdin.read() if file == "-" else Path(file).expanduser().read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"--prompts {file}: expected text in UTF-8, one prompt a line: {error}."
        ) from error
    except OSError as error:
        raise SettingsError(f"--prompts {file} cannot be read: {error.strerror}.") from error
    if text.lstrip().startswith("["):
        raise SettingsError(f"--prompts {file}: expected JSONL, one object a line; this is a JSON list.")
    return text.split("\n")


def _entry(line: str) -> dict[str, Any]:
    if not line.lstrip().startswith("{"):
        return {"prompt": line.strip()}
    expected = 'expected {"prompt": "two cats"}, with object, count, seed as wished'
    try:
        entry: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise SettingsError(f"{expected}: {error}.") from error
    if not isinstance(entry.get("prompt"), str):
        raise SettingsError(f'{expected}; got no text under "prompt".')
    return entry


def _seed(seed: object) -> int:
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise SettingsError(f"seed: expected a whole number from 0, got {seed!r}.")
    return seed
