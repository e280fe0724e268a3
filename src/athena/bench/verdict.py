"""What the numbers say of the paper's claims, in sentences, whichever way they fall."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd

from athena.bench.sheets import percent, signed
from athena.bench.tables import shown


class Claim(NamedTuple):
    """The paper's Table 1 on CoCoCount-E: accuracy and seconds, unsteered and adaptive."""

    model: str
    plain: float
    adaptive: float
    seconds_plain: float
    seconds_adaptive: float

    @property
    def gain(self) -> float:
        return self.adaptive - self.plain

    @property
    def price(self) -> float:
        return self.seconds_adaptive / self.seconds_plain


CLAIMS = {
    "mini-sdxl": Claim("SDXL", 0.265, 0.455, 5.3, 11.6),
    "mini-sd3": Claim("SD 3.5 Large", 0.448, 0.656, 24.1, 38.1),
    "mini-flux": Claim("FLUX.1-dev", 0.465, 0.622, 22.6, 35.1),
}
ORDER = ("unsteered", "static", "feedback", "adaptive")


def sentences(data: dict[str, pd.DataFrame]) -> list[str]:
    """For every model: the gain, the price, the order of the strategies, and the honest rival."""
    return [
        said
        for _, group in data["table1"].groupby(["model", "dataset"], sort=False)
        for said in of(group, data)
    ]


def of(group: pd.DataFrame, data: dict[str, pd.DataFrame]) -> Iterator[str]:
    model, dataset = group.iloc[0][["model", "dataset"]]
    rows = group.set_index("strategy")
    if not {"unsteered", "adaptive"} <= set(rows.index):
        return
    claim = CLAIMS.get(str(model))
    yield f"**{model}, {dataset}.** " + " ".join(
        [gain(here(data["pairs"], model, dataset, "adaptive"), claim), price(rows, claim), order(rows)]
        + [rival(one) for one in all_here(data["equal_rows"], model, dataset)]
    )


def gain(pair: Any, claim: Claim | None) -> str:
    """Adaptive against unsteered, beside the paper's gain."""
    if pair is None or pair["change"] != pair["change"]:
        return "Adaptive cannot be compared with unsteered sampling: there are no pairs that were judged."
    low, high = pair["change_low"], pair["change_high"]
    told = (
        f"Adaptive is {signed(pair['change'])} points against unsteered ({signed(low)} to {signed(high)}; "
        f"{pair['fixed']} fixed, {pair['broken']} broken, p = {pair['p']:.2g})"
    )
    if not low > 0:
        told += ": no gain that could not be luck"
    if claim is None:
        return told + "."
    worse = "less than" if pair["change"] < claim.gain else "at least"
    return (
        f"{told}; the paper's {signed(claim.gain)} with {claim.model} on CoCoCount-E: this is {worse} that."
    )


def price(rows: pd.DataFrame, claim: Claim | None) -> str:
    spent, took = (rows.loc["adaptive", name] / rows.loc["unsteered", name] for name in ("rows", "seconds"))
    told = f"It takes {spent:.2f} times the denoiser rows"
    if took != took:
        return told + "."
    told += f" and {took:.2f} times the seconds"
    if claim is None:
        return told + "."
    way = "dearer" if took > claim.price else "cheaper"
    return f"{told}; the paper's takes {claim.price:.2f} times the seconds: here it is {way}."


def order(rows: pd.DataFrame) -> str:
    """The paper's order of its three variants, or what stands against it."""
    there = [name for name in ORDER if name in rows.index]
    values = [rows.loc[name, "accuracy"] for name in there]
    fallen = [
        f"{b} ({percent(y)}%) is below {a} ({percent(x)}%)"
        for a, b, x, y in zip(there, there[1:], values, values[1:], strict=False)
        if y < x
    ]
    if not fallen:
        return f"The paper's order holds: {', '.join(there)}."
    return f"The paper's order does not hold: {'; '.join(fallen)}."


def rival(row: Any) -> str:
    """A strategy against new noise at the same rows."""
    strategy, spent = row["strategy"], shown(row["rows"], "rows")
    if row["reseed"] != row["reseed"]:
        return f"At {spent} rows `{strategy}` has no rival: no budget of `reseed` reaches there."
    way = "ahead of" if row["ahead"] > 0 else "behind" if row["ahead"] < 0 else "level with"
    own, other = percent(row["accuracy"]), percent(row["reseed"])
    return f"At {spent} rows `{strategy}` is {way} new noise: {own}% against {other}%."


def here(table: pd.DataFrame, model: Any, dataset: Any, strategy: str) -> Any:
    found = [row for row in all_here(table, model, dataset) if row["strategy"] == strategy]
    return found[0] if found else None


def all_here(table: pd.DataFrame, model: Any, dataset: Any) -> list[Any]:
    chosen = table[(table["model"] == model) & (table["dataset"] == dataset)]
    return [row for _, row in chosen.iterrows()]
