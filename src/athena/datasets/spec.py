"""The specification in the paper's appendix, as data, and words of our own to meet it with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Spec:
    """How many prompts of each level, and which counts."""

    name: str
    levels: Mapping[int, int]
    counts: range
    source: str  # as the paper's template has it

    @property
    def size(self) -> int:
        return sum(self.levels.values())


SPECS = {"paper": Spec("paper", {1: 120, 2: 100, 3: 100, 4: 40}, range(2, 11), "ATHENA")}

TAGS = {1: "hard-object", 2: "scene", 3: "distractor", 4: "relation"}
START = "A photo of"
NEEDS = {1: (), 2: ("scene",), 3: ("scene", "distractor"), 4: ("relation",)}
KEYS = (
    "id", "prompt", "object", "object_plural", "number", "int_number", "level", "difficulty_tag",
    "scene", "distractor", "relation", "source",
)  # fmt: skip

# The twenty things CoCoCount counts: level 1 may count none of them.
COCOCOUNT = frozenset(
    {
        "airplane", "apple", "backpack", "baseball glove", "bear", "bird", "bowl", "car", "cat",
        "cell phone", "clock", "cow", "cup", "dog", "donut", "elephant", "horse", "sheep",
        "sports ball", "tie",
    }
)  # fmt: skip

VAGUE = (
    "several", "many", "some", "few", "a few", "lots of", "a lot of", "numerous", "various", "multiple",
    "a couple of", "dozens of", "plenty of",
)  # fmt: skip
NEGATIVE = ("no", "not", "without", "none", "never", "except", "missing")
# Words in -ing that stand before a noun and are no verb of the sentence.
NAMES_IN_ING = frozenset(
    {
        "living", "dining", "building", "ceiling", "clothing", "crossing", "parking", "swimming",
        "sewing", "wedding", "landing", "railing", "morning", "evening", "spring", "string", "ring",
        "king", "wing", "paving",
    }
)  # fmt: skip

# --- our own vocabulary: clear, countable, often photographed, and none of CoCoCount's

NOUNS = {
    "acorn": "acorns", "anchor": "anchors", "barrel": "barrels", "basket": "baskets", "beach ball": "beach balls",
    "birdhouse": "birdhouses", "bucket": "buckets", "butterfly": "butterflies", "cactus": "cacti",
    "canoe": "canoes", "drum": "drums", "fire extinguisher": "fire extinguishers", "fire hydrant": "fire hydrants",
    "flamingo": "flamingos", "frog": "frogs", "garden gnome": "garden gnomes", "goldfish": "goldfish",
    "hammer": "hammers", "kettle": "kettles", "kite": "kites", "ladybug": "ladybugs", "lighthouse": "lighthouses",
    "owl": "owls", "parachute": "parachutes", "penguin": "penguins", "pineapple": "pineapples",
    "rocking chair": "rocking chairs", "scarecrow": "scarecrows", "sombrero": "sombreros", "starfish": "starfish",
    "sunflower": "sunflowers", "teapot": "teapots", "tent": "tents", "toaster": "toasters", "tortoise": "tortoises",
    "tractor": "tractors", "umbrella": "umbrellas", "watering can": "watering cans", "windmill": "windmills",
    "crate": "crates",
}  # fmt: skip
SCENES = (
    "on a gravel path", "on a green carpet", "on a concrete floor", "on a frozen lake", "on a hilltop",
    "on a wooden deck", "on a snowy field", "on a muddy trail", "on a rooftop terrace", "on a dry riverbed",
    "in a courtyard", "in a meadow", "in a quiet harbour", "in a white room", "in a sunny garden", "in a desert",
    "in shallow water", "in a large hall", "in front of a white wall", "at the foot of a mountain",
    "under a cloudy sky", "under a stone bridge", "at the seaside", "beside a calm lake", "near a waterfall",
)  # fmt: skip
DISTRACTORS = (
    "a bench", "a ladder", "a motorcycle", "a piano", "a rabbit", "a fountain pen", "a wooden chair", "a snowboard",
    "a sailboat", "a red scarf", "a newspaper", "a child", "a goat", "a shopping cart", "a potted plant", "a sofa",
    "a wine bottle", "a surfboard", "a statue", "a loaf of bread",
)  # fmt: skip
RELATIONS = (
    "in a tidy row", "in a half circle", "in a single file", "in a loose heap", "arranged in a triangle",
    "arranged in a ring", "side by side on a plank", "around a tall lamp post", "around a tree stump",
    "along the edge of a road", "along a garden wall", "lined up on a low wall", "spread across a blanket",
    "spread out on a lawn", "placed at equal distances on the sand", "next to each other under an arch",
)  # fmt: skip
