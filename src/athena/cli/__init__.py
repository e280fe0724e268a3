"""The `athena` command: one file per subcommand, and nothing heavy imported before one runs."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from athena.cli import generate, models
from athena.errors import AthenaError, PromptError, SettingsError


class _Door(TyperGroup):
    """Our errors as one red line: 2 for what was asked wrongly, 1 for what failed, 130 for Ctrl-C."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except AthenaError as error:
            typer.secho(f"error: {' '.join(str(error).split())}", err=True, fg="red")
            raise typer.Exit(2 if isinstance(error, (PromptError, SettingsError)) else 1) from error
        except KeyboardInterrupt as error:
            typer.secho("\nstopped", err=True)
            raise typer.Exit(130) from error


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
    for library in ("DIFFUSERS", "TRANSFORMERS"):
        os.environ.setdefault(f"{library}_VERBOSITY", "error")


app.command("generate", epilog=generate.EXAMPLES)(generate.run)
app.command("models", epilog=models.EXAMPLES)(models.run)


def main() -> None:
    """The console script."""
    app()
