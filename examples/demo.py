"""`make demo`: the main job, on this machine, without a download."""

from __future__ import annotations

import sys
from pathlib import Path

OUT = Path("out/demo")
PROMPTS = ["a photo of seven apples on the grass", "a photo of four cats", "a photo of nine balloons"]
STRATEGIES = ["unsteered", "static", "feedback", "adaptive"]


def tiny() -> tuple[object, object, dict[str, object]]:
    """A random pipeline and a counter that sees what it likes: the machinery runs, the pictures are noise."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import zoo

    def brightness(image: object, noun: str) -> int:
        from PIL import ImageStat

        return int(ImageStat.Stat(image).mean[0]) % 10  # type: ignore[arg-type]

    return zoo.sdxl(), brightness, zoo.CALL["sdxl"]


def main() -> None:
    import athena

    try:
        pipe, counter, call = athena.models.load("mini"), "mini", athena.models.find("mini").call()
    except athena.errors.LoadError:
        print("The embedded models are not in this checkout yet: this runs on a TINY RANDOM PIPELINE.")
        print("Its pictures are noise and its counts mean nothing; everything else is real.\n")
        pipe, counter, call = tiny()
    steerer = athena.Athena(pipe, counter)
    print(
        f"{'prompt':40}{'strategy':12}{'seen half-way':16}{'in the image':14}{'denoiser rows':>14}{'seconds':>9}"
    )
    for strategy in STRATEGIES:
        for result in steerer(PROMPTS, strategy=strategy, seed=23, **call):
            seen = " -> ".join(str(a.count) for a in result.attempts if a.count is not None)
            path = OUT / f"{result.target}-{result.prompt.noun}-{strategy}.png"
            result.save(path)
            print(
                f"{result.prompt.text:40}{strategy:12}{seen or '-':16}{f'{result.count} of {result.target}':14}"
                f"{result.cost.denoiser_rows:14}{result.cost.seconds:9.1f}"
            )
    print(f"\nThe pictures are in {OUT.resolve()}; each carries its whole story: athena.Result.load(path).")


if __name__ == "__main__":
    main()
