"""One prompt of a data set, and files of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from athena.errors import LoadError, PromptError, SettingsError
from athena.prompts import CountPrompt, parse_prompt

TEXTS = ("scene", "distractor", "relation", "source")


@dataclass(frozen=True)
class Entry:
    """A prompt, what it counts, and how it came about; `raw` is the row as its file has it, every key kept."""

    prompt: str
    object: str
    object_plural: str
    number: str
    int_number: int
    level: int | None = None
    scene: str | None = None
    distractor: str | None = None
    relation: str | None = None
    seed: int | None = None
    id: str = ""
    source: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def asked(self) -> CountPrompt:
        """The prompt as the engine takes it."""
        return parse_prompt(self.prompt, self.object, self.int_number)

    def to_dict(self) -> dict[str, Any]:
        """The row as it was read; for an entry made here, every field."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "raw"}
        return dict(self.raw) or own


@dataclass(frozen=True)
class Broken:
    """A line that is no JSON, and why."""

    why: str


def entry(row: object, number: int = 1, source: str | None = None) -> Entry:
    """Check one row, and read from the prompt whatever the row leaves out."""
    if isinstance(row, Broken):
        raise SettingsError(f"expected a JSON object a line: {row.why}.")
    if isinstance(row, Mapping) and "prompt" not in row and any(isinstance(v, list) for v in row.values()):
        raise SettingsError(
            "expected a list of prompts, or an object a line; this is one object with lists in it."
        )
    if not isinstance(row, Mapping):
        raise SettingsError(f'expected an object with "prompt", got {_short(row)}.')
    text = row.get("prompt")
    if not isinstance(text, str) or not text.strip():
        raise SettingsError(f'"prompt": expected a text, got {_short(text)}.')
    noun, count = row.get("object"), row.get("int_number")
    if noun is not None and (not isinstance(noun, str) or not noun.strip()):
        raise SettingsError(f'"object": expected the counted noun in the singular, got {_short(noun)}.')
    if count is not None and (not isinstance(count, int) or isinstance(count, bool)):
        raise SettingsError(f'"int_number": expected a whole number, got {_short(count)}.')
    found = parse_prompt(text, noun, count)
    said = {"object_plural": found.noun_plural, "number": found.number}
    for name, read in said.items():
        value = row.get(name)
        if value is not None and (not isinstance(value, str) or value.lower() not in text.lower()):
            raise SettingsError(
                f'"{name}": expected words of the prompt, such as {read!r}, got {_short(value)}.'
            )
    return Entry(
        prompt=text,
        object=noun or found.noun,
        object_plural=row.get("object_plural") or found.noun_plural,
        number=row.get("number") or found.number,
        int_number=found.count or 0,
        level=_whole(row, "level", 1),
        seed=_whole(row, "seed", 0),
        id=str(number if row.get("id") is None else row["id"]),
        raw=dict(row),
        **{name: _text(row, name) for name in TEXTS if name != "source"},
        source=_text(row, "source") or source,
    )


def rows(path: str | Path) -> Iterator[tuple[str, object]]:
    """The rows of a JSON list or a JSONL file, each with its place: "row 3", "line 7"."""
    file = Path(path).expanduser()
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise LoadError(f"{path}: expected JSON or JSONL in UTF-8: {error}.") from error
    except OSError as error:
        raise LoadError(
            f"{path} cannot be read: {error.strerror}; give a JSON list or a JSONL file."
        ) from error
    if text.lstrip().startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise LoadError(f"{path} is no JSON: {error}.") from error
        yield from ((f"row {number}", row) for number, row in enumerate(listed, 1))
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            row = Broken(str(error))
        yield f"line {number}", row


def read(path: str | Path, source: str | None = None) -> list[Entry]:
    """Every entry of a file, checked; an error names its row."""
    found: list[Entry] = []
    for number, (place, row) in enumerate(rows(path), 1):
        if isinstance(row, Broken):
            raise LoadError(f"{path}, {place}: expected a JSON object a line: {row.why}.")
        try:
            found.append(entry(row, number, source or Path(path).stem))
        except (PromptError, SettingsError) as error:
            raise type(error)(f"{path}, {place}: {error}") from error
    if not found:
        raise LoadError(f"{path} has no prompts: expected a JSON list or a JSONL file.")
    seen: dict[str, int] = {}
    for number, one in enumerate(found, 1):
        if one.id in seen:
            raise SettingsError(
                f"{path}: rows {seen[one.id]} and {number} have the same id {one.id!r}: ids must differ."
            )
        seen[one.id] = number
    return found


def write(entries: Iterable[Entry], path: str | Path) -> Path:
    """A JSON list in the published files' form, or JSONL by the name's ending."""
    file = Path(path).expanduser()
    listed = [one.to_dict() for one in entries]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in listed)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        text = lines if file.suffix == ".jsonl" else json.dumps(listed, indent=2, ensure_ascii=False)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LoadError(f"{file} cannot be written: {error.strerror}; name another file.") from error
    return file


def _whole(row: Mapping[str, Any], name: str, least: int) -> int | None:
    value = row.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SettingsError(f'"{name}": expected a whole number from {least}, or null, got {_short(value)}.')
    return value


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise SettingsError(f'"{name}": expected a text, or null, got {_short(value)}.')
    return value or None  # CoCoCount writes no scene as ""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
