"""What the README shows works."""

import re
from pathlib import Path

import athena
import zoo
from athena.counters import Scripted

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_strategy_of_the_readme():
    block = next(b for b in re.findall(r"```python\n(.*?)```", README, re.S) if "def patient" in b)
    call = {**zoo.CALL["flux"], "num_inference_steps": 4}
    told = Scripted([5, 6, 6, 7, 7])
    tiny = athena.Athena(zoo.flux(), told)
    results = []
    names = {
        "athena": athena,
        "steerer": lambda *args, **options: results.append(tiny(*args, **options, **call)),
    }
    exec(block, names)
    assert [(a.count, a.finished) for a in results[0].attempts] == [
        (5, False),
        (6, False),
        (6, False),
        (7, True),
    ]
    assert results[0].exact


def test_every_file_the_readme_names_is_there():
    for name in re.findall(r"(?:\(|`)((?:docs|tests|benchmarks|src)/[\w./-]+)", README):
        assert (ROOT / name).exists(), name
