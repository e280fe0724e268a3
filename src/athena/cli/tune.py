"""athena tune: settings for each strategy, searched on the tuning split of a data set."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from athena.cli import bench, options
from athena.cli.setup import Setup
from athena.errors import LoadError

EXAMPLES = """\b
Examples:
  athena tune --model mini-sdxl --dataset mini --trials 30 --out tuned/mini-sdxl
  athena bench mini --model mini-sdxl --preset tuned/mini-sdxl/preset.json --out runs/tuned
"""


def run(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The search (tune.db) and its result (preset.json).")
    ],
    model: options.Model = "mini",
    dataset: Annotated[str, typer.Option(metavar="DATASET", help="See `athena datasets list`.")] = "mini",
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="In all, for each strategy.")] = 30,
    strategies: Annotated[
        str, typer.Option(metavar="A,B,...", help="Which to tune.")
    ] = "static,feedback,adaptive",
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only so many prompts, shuffled.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the search; one search, one seed.")] = 0,
    steps: options.Steps = None,
    more: options.More = None,
    preset: options.Preset = None,
    counter: options.Counter = None,
    judge: bench.Judge = None,
    device: options.Device = "auto",
    dtype: options.Dtype = None,
    offload: options.Offload = None,
    batch_size: options.BatchSize = None,
) -> None:
    """Search t_est, t_steer and gamma, on the tuning split only.

    More exact images are better; of settings with equally many, those with fewer denoiser rows. Killed and
    started again, it goes on. `--preset DIR/preset.json` uses the result in any command.
    """
    setup = Setup(model, counter, bench.judge_of(model, judge), device, dtype, offload, preset)
    entries = bench.chosen(dataset, "tune", setup)
    call = setup.call(None, steps, more)

    from athena.bench import book, facts, plan, tuning

    tuning.library()
    own = setup.own() if steps is None else replace(setup.own(), steps=steps)
    making = bench.about(setup, call)
    entries = plan.shuffled(entries)[:limit]
    asked = {
        "dataset": dataset,
        "split": "tune",
        "prompts": bench.digest_of(entries),
        "model": making.revision,
        "dtype": making.dtype,
        "call": call,
        "counter": making.counter,
        "judge": setup.judge or making.counter,
    }
    steerer = setup.load()
    call = call if batch_size is None else {**call, "batch_size": batch_size}  # it changes no image
    folder = out.expanduser()
    best = tuning.tune(
        tuning.evaluation(steerer, entries, call, plan.SEED),
        own,
        [name.strip() for name in strategies.split(",")],
        trials,
        folder,
        asked,
        seed=seed,
        say=functools.partial(typer.echo, err=True),
    )
    about = {**asked, "images": len(entries), "trials": trials, "seed": seed, **facts.session()}
    file = folder / "preset.json"
    try:
        book.write_json(file, tuning.preset_file(best, own, model, about))
    except OSError as error:
        raise LoadError(f"{file} cannot be written: {error.strerror}") from error
    for name, (chosen, tried) in best.items():
        typer.echo(
            f"{name}: t_est {chosen.estimate_step}, t_steer {chosen.steer_steps}, gamma {chosen.gamma}: "
            f"{tried.right}/{tried.images} exact, {tried.rows:.1f} rows"
        )
    typer.echo(f"\n--preset {file}")
