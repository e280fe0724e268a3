"""The doors of the house: what is public, which room may import which, and that coming in costs nothing."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

HOUSE = Path(__file__).parents[1] / "src" / "athena"
HEAVY = {"torch", "diffusers", "transformers", "accelerate", "supervision", "pandas", "scipy", "numpy"}

PUBLIC = [
    "Athena",
    "Attempt",
    "Cost",
    "CountPrompt",
    "Finish",
    "Probe",
    "Result",
    "counters",
    "errors",
    "generate",
    "models",
    "parse_prompt",
    "strategies",
    "testing",
]

# Which room may import which, from the ground up: a room names rooms above it in this list only.
# "athena" is the public door itself; a room of one underscore is a cupboard of the room that names it.
BASE = {"errors", "prompts", "types"}
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "_english": set(),
    "prompts": {"errors", "_english"},
    "types": {"errors", "prompts"},
    "steering": set(),
    "progress": {"errors"},
    "strategies": BASE,
    "driver": {"errors", "types", "steering"},
    "_loading": {"errors"},
    "models": {"errors", "_loading"},
    "counters": BASE | {"_english", "_loading"},  # and, by name only, "mini": see LAZY
    "planning": BASE | {"strategies", "driver", "models"},
    "engine": BASE | {"planning", "strategies", "driver", "models", "counters", "progress"},
    "testing": BASE | {"driver", "models", "engine"},
    "watching": BASE | {"planning", "counters", "engine", "progress"},
    "drawing": BASE,
    "athena": BASE | {"strategies", "models", "counters", "engine", "testing"},
    "datasets": BASE,  # and, by name only, "mini": the words the embedded models know
    "bench": BASE
    | {"athena", "strategies", "models", "counters", "engine", "progress", "datasets", "drawing"},
    "mini": BASE | {"athena", "strategies", "models", "counters", "engine", "progress", "datasets", "bench"},
    "cli": BASE
    | {"athena", "strategies", "models", "counters", "engine", "progress", "datasets", "bench"}
    | {"watching", "drawing", "testing", "_loading"},
    "__main__": {"cli"},
}
LAZY = {("counters", "mini"), ("models", "mini"), ("datasets", "mini")}  # only inside a function

NO_TORCH = BASE | {"strategies", "progress", "datasets", "cli", "athena", "drawing"}
TOUCHES_DIFFUSERS = {"driver", "models", "mini"}
NEEDS_RECORDS_ONLY = {
    f"bench/{name}" for name in ("book", "records", "metrics", "tables", "plots", "gallery", "report")
}


class Import(NamedTuple):
    file: Path
    module: str
    lazy: bool  # inside a function

    @property
    def room(self) -> str:
        return room_of(self.file)

    @property
    def package(self) -> str:
        return self.module.split(".")[0]

    def __str__(self) -> str:
        return f"{self.file.relative_to(HOUSE)} imports {self.module}"


def room_of(file: Path) -> str:
    first = file.relative_to(HOUSE).parts[0].removesuffix(".py")
    return "athena" if first == "__init__" else first


def imports_in(file: Path) -> Iterator[Import]:
    """Every import of a file, made absolute; a type is no door, so `if TYPE_CHECKING` is passed by."""
    package = ["athena", *file.relative_to(HOUSE).parent.parts]

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            return
        if isinstance(node, ast.Import):
            yield from (Import(file, alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            if module == "athena":  # from athena import models: a room; from athena import Result: the door
                rooms = (
                    f"athena.{a.name}"
                    if (HOUSE / a.name).exists() or (HOUSE / f"{a.name}.py").exists()
                    else "athena"
                    for a in node.names
                )
                yield from (Import(file, name, lazy) for name in rooms)
            else:
                yield Import(file, module, lazy)
        inside = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    yield from walk(ast.parse(file.read_text(encoding="utf-8")), False)


IMPORTS = [found for file in sorted(HOUSE.rglob("*.py")) for found in imports_in(file)]


def through(found: Import) -> str | None:
    """The room an import leads to, None for one outside the house or inside the same room."""
    if found.package != "athena":
        return None
    room = found.module.split(".")[1] if "." in found.module else "athena"
    return None if room == found.room else room


# --- coming in


def test_every_public_name_is_there():
    import athena

    assert sorted(athena.__all__) == sorted(PUBLIC)
    assert not [name for name in athena.__all__ if not hasattr(athena, name)]
    assert set(athena.__all__) <= set(dir(athena))


def test_no_public_name_that_is_not_there():
    import athena

    with pytest.raises(AttributeError, match="no_such_name"):
        athena.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    "code",
    [
        "import athena",
        "import athena; athena.parse_prompt('a photo of cats', count=2)",
        "import sys; sys.argv[1:] = ['--help']; import athena.cli; athena.cli.main()",
        "import sys; sys.argv[1:] = ['generate', '--help']; import athena.cli; athena.cli.main()",
    ],
)
def test_nothing_heavy_comes_along(code):
    heavy = f"{sorted(HEAVY)} if m in sys.modules]"
    report = f"import atexit, sys; atexit.register(lambda: print('HEAVY', [m for m in {heavy}))\n{code}"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "HEAVY []" in done.stdout


# --- inside


def test_every_room_is_on_the_plan():
    rooms = {room_of(file) for file in HOUSE.rglob("*.py")}
    assert rooms <= set(ARROWS), "a new room: add it to ARROWS, with the rooms it may import"


def test_the_plan_goes_one_way():
    order = list(ARROWS)
    assert all(order.index(to) < order.index(room) for room, doors in ARROWS.items() for to in doors)


def test_doors_open_one_way():
    def allowed(i: Import, to: str) -> bool:
        return to in ARROWS.get(i.room, {to}) or (i.lazy and (i.room, to) in LAZY)

    assert not [str(i) for i in IMPORTS if (to := through(i)) and not allowed(i, to)]


def test_rooms_without_torch():
    frameworks = {"torch", "diffusers", "transformers", "accelerate"}
    assert not [str(i) for i in IMPORTS if i.package in frameworks and i.room in NO_TORCH]


def test_steering_knows_torch_and_nothing_else():
    ours = [i for i in IMPORTS if i.room == "steering"]
    assert not [str(i) for i in ours if i.package not in {"torch", *sys.stdlib_module_names}]


def test_who_touches_diffusers():
    assert not [str(i) for i in IMPORTS if i.package == "diffusers" and i.room not in TOUCHES_DIFFUSERS]


def test_a_report_needs_records_only():
    def reports(i: Import) -> bool:
        return i.file.relative_to(HOUSE).with_suffix("").as_posix() in NEEDS_RECORDS_ONLY

    banned = {"torch", "diffusers", "transformers", "accelerate"}
    rooms = {"athena", "engine", "driver", "counters", "models"}
    assert not [str(i) for i in IMPORTS if reports(i) and (i.package in banned or through(i) in rooms)]


def test_no_file_outgrows_the_house():
    """Thousand-line files are what we set out to avoid."""
    long = {
        str(f.relative_to(HOUSE)): n
        for f in HOUSE.rglob("*.py")
        if (n := len(f.read_text().split("\n"))) > 500
    }
    assert not long
