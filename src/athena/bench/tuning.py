"""t_est, t_steer and gamma of each strategy by Optuna, on the tuning split and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from athena import models
from athena.bench.identity import digest
from athena.datasets import Entry
from athena.errors import LoadError, MissingExtra, SettingsError, UnknownName

STRATEGIES = ("static", "feedback", "adaptive")
GAMMA = (0.25, 8.0)
RANDOM = 8  # trials before the sampler trusts what it has seen
HALF = 1000.0  # rows at which the tie-breaker is half spent; it never outweighs one image


class Tried(NamedTuple):
    """One trial: how many of the images were right, and their mean denoiser rows."""

    right: int
    images: int
    rows: float


Evaluate = Callable[[str, models.Settings], Tried]
Say = Callable[[str], None]


def objective(tried: Tried) -> float:
    """Accuracy; between trials of the same accuracy, fewer rows. One more image right is worth any rows."""
    return (tried.right - tried.rows / (tried.rows + HALF)) / tried.images


def space(strategy: str, steps: int) -> dict[str, tuple[int, int]]:
    """The whole numbers to choose from: from a tenth of the steps to half of them, an estimate up to 0.7."""
    found = {"steer_steps": (1, max(1, round(0.5 * steps)))}
    if strategy != "static":
        found["estimate_step"] = (max(1, round(0.2 * steps)), max(1, round(0.7 * steps)))
    return found


def tune(
    evaluate: Evaluate,
    preset: models.Preset,
    strategies: Sequence[str],
    trials: int,
    folder: Path,
    asked: dict[str, Any],
    *,
    seed: int = 0,
    say: Say = print,
) -> dict[str, tuple[models.Settings, Tried]]:
    """The best settings of each strategy; what the folder's database holds is not tried again.

    The first trial is the preset's own settings, so that the result is never worse than they are on this split.
    """
    optuna = library()
    for name in strategies:
        if name not in STRATEGIES:
            raise UnknownName("strategy to tune", name, STRATEGIES)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"cannot write into {folder}: {error.strerror}; name another folder with --out"
        ) from error
    storage = f"sqlite:///{folder.resolve() / 'tune.db'}"
    best = {}
    for name in strategies:
        study = optuna.create_study(
            study_name=name, storage=storage, direction="maximize", load_if_exists=True
        )
        same_question(study, asked | {"seed": seed, "steps": preset.steps}, folder)
        search(optuna, study, evaluate, preset, name, trials, seed, say)
        top = study.best_trial
        best[name] = (settings(top.params, preset, name), Tried(**top.user_attrs["tried"]))
    return best


def search(
    optuna: Any,
    study: Any,
    evaluate: Evaluate,
    preset: models.Preset,
    name: str,
    trials: int,
    seed: int,
    say: Say,
) -> None:
    """Trials until there are enough; one that was killed is tried again."""
    state = optuna.trial.TrialState
    for trial in study.get_trials(states=(state.RUNNING,)):
        study.tell(trial.number, state=state.FAIL)
    done = len(study.get_trials(states=(state.COMPLETE,)))
    for number in range(done, trials):
        # A sampler of its own for every trial: a resumed search goes the way of an uninterrupted one.
        own = int.from_bytes(sha256(f"{seed} {name} {number}".encode()).digest()[:4], "big")
        study.sampler = optuna.samplers.TPESampler(seed=own, n_startup_trials=RANDOM)
        if number == 0 and not study.get_trials(states=(state.WAITING,)):
            study.enqueue_trial(params(preset, name))
        trial = study.ask()
        for key, (low, high) in space(name, preset.steps).items():
            trial.suggest_int(key, low, high)
        trial.suggest_float("gamma", *GAMMA, log=True)
        tried = evaluate(name, settings(trial.params, preset, name))
        trial.set_user_attr("tried", tried._asdict())
        study.tell(trial, objective(tried))
        shown = ", ".join(f"{key} {value:.3g}" for key, value in sorted(trial.params.items()))
        say(
            f"{name} {number + 1}/{trials}: {shown}: {tried.right}/{tried.images} exact, {tried.rows:.1f} rows"
        )


def params(preset: models.Preset, name: str) -> dict[str, Any]:
    """The preset's own settings, as far as the search could come upon them."""
    own: models.Settings = getattr(preset, name)
    found: dict[str, Any] = {"gamma": min(max(own.gamma, GAMMA[0]), GAMMA[1])}
    for key, (low, high) in space(name, preset.steps).items():
        found[key] = min(max(getattr(own, key), low), high)
    return found


def settings(params: dict[str, Any], preset: models.Preset, name: str) -> models.Settings:
    own: models.Settings = getattr(preset, name)
    return models.Settings(
        params.get("estimate_step", own.estimate_step), params["steer_steps"], round(params["gamma"], 3)
    )


def same_question(study: Any, asked: dict[str, Any], folder: Path) -> None:
    """Trials of other prompts, another model or another seed are no help."""
    key = digest(asked)
    if study.user_attrs.get("asked", key) != key:
        raise SettingsError(
            f"{folder} holds trials that answer another question (model, prompts, seed, counter or call "
            "differ): name another --out."
        )
    study.set_user_attr("asked", key)


def evaluation(steerer: Any, entries: Sequence[Entry], call: dict[str, Any], seed: int) -> Evaluate:
    """Each trial makes every prompt of the split once, from its own noise or the seed's."""

    def evaluate(strategy: str, chosen: models.Settings) -> Tried:
        options = {**call, **vars(chosen)}
        seeds = [seed if one.seed is None else one.seed for one in entries]
        results = steerer.stream(
            [one.asked for one in entries], seed=seeds, strategy=strategy, progress=False, **options
        )
        made = [result for _, result in results]
        if any(result.count is None for result in made):
            raise LoadError(
                "an image of the trial was not judged: tune needs a judge that counts every image"
            )
        rows = sum(result.cost.denoiser_rows for result in made) / len(made)
        assert isfinite(rows)
        return Tried(sum(result.exact for result in made), len(made), rows)

    return evaluate


def preset_file(
    best: dict[str, tuple[models.Settings, Tried]], preset: models.Preset, model: str, about: dict[str, Any]
) -> dict[str, Any]:
    """What `--preset FILE` reads, and under "tuned" where it comes from."""
    found: dict[str, Any] = {"model": model, "steps": preset.steps}
    for name, (chosen, _) in best.items():
        own = {"t_steer": chosen.steer_steps, "gamma": chosen.gamma}
        found[name] = own if name == "static" else {"t_est": chosen.estimate_step, **own}
    results = {
        name: {**tried._asdict(), "accuracy": tried.right / tried.images} for name, (_, tried) in best.items()
    }
    return {**found, "tuned": {**about, "results": results}}


def library() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingExtra(
            'tuning needs optuna, which is not installed: pip install "athena-t2i[tune]"'
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
