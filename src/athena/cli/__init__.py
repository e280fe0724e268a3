"""The `athena` command: one file per subcommand, and nothing heavy imported before one runs."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from athena.cli import (
    bench,
    check,
    compare,
    count,
    counters,
    datasets,
    generate,
    judge,
    models,
    report,
    score,
    tune,
    watch,
)
from athena.errors import AthenaError, PromptError, SettingsError

DEBUG = "ATHENA_DEBUG"
# What is an argument in Python is an option here.
_OPTIONS = {"num_inference_steps": "steps", "batch_size": "batch-size"}
_ARGUMENT = re.compile(
    r"(?<![\w/?&=@-])(object|count|seed|device|dtype|offload|gamma|num_inference_steps|batch_size|strategy)"
    r"=(?= |$|[\w\"'[])"
)
_BARE = re.compile(r"(?<![\w'])(num_inference_steps|batch_size)\b")
_ASIDE = re.compile(r" \(local_files_only=True[^)]*\)")


class _Door(TyperGroup):
    """Our errors as one red line: 2 for what was asked wrongly, 1 for what failed, 130 for Ctrl-C."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except AthenaError as error:
            typer.secho(f"error: {told(error)}", err=True, fg="red")
            raise typer.Exit(2 if isinstance(error, (PromptError, SettingsError)) else 1) from error
        except KeyboardInterrupt as error:
            typer.secho("stopped", err=True)
            raise typer.Exit(130) from error
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            if DEBUG in os.environ or isinstance(error, typer.Exit | typer.Abort):
                raise
            typer.secho(f"error: {fallen(error)}", err=True, fg="red")
            raise typer.Exit(1) from error


def fallen(error: BaseException) -> str:
    """What somebody else's code raised, and where; an own counter's last line says most."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    said = " ".join(str(error).split()) or "no words"
    return f"{type(error).__name__}: {said} ({at.filename}, line {at.lineno}). {DEBUG}=1 shows all of it."


def told(error: AthenaError) -> str:
    """The message on one line, with options in place of Python's arguments."""
    line = _ASIDE.sub("", " ".join(str(error).split()))
    line = _ARGUMENT.sub(lambda found: f"--{_OPTIONS.get(found[1], found[1])} ", line)
    line = _BARE.sub(lambda found: f"--{_OPTIONS[found[1]]}", line)
    return " ".join(line.split())


app = typer.Typer(
    name="athena",
    cls=_Door,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"athena {version('athena-t2i')}")
        raise typer.Exit


@app.callback()
def _athena(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Pictures with the right number of things in them."""
    quiet()


def quiet() -> None:
    """Only our own words: no library's log, warning or bar, but for downloads on a terminal."""
    for library in ("DIFFUSERS", "TRANSFORMERS"):
        os.environ.setdefault(f"{library}_VERBOSITY", "error")
    os.environ.setdefault("TQDM_DISABLE", "1")  # bars that do not say otherwise; ours does
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


COMMANDS = (generate, compare, watch, count, bench, judge, score, report, tune, check, models, counters)
for command in COMMANDS:
    app.command(command.__name__.rpartition(".")[2], epilog=command.EXAMPLES)(command.run)
app.add_typer(datasets.app, name="datasets")


def main() -> None:
    """The console script."""
    app()
