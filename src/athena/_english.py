"""What `prompts` knows of English: the words that end a noun, the adjectives before it, its singular."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import inflect

LARGEST = 99

# The words that decide, as alternatives for regular expressions with re.X.
OWNERS = "the|these|those|my|your|his|her|its|our|their"
ENDS = r"""
    in|on|at|of|with|without|by|near|next|besides?|behind|under|over|above|below|beneath|between|among
    |around|along|across|against|inside|within|outside|into|onto|upon|atop|through|to|towards?|from|for|as
    |like|per|via|up|down|off|out|about|during|before|after|past|while|until|than|then|and|or|but|nor|plus
    |vs|versus|that|which|who|whose|where|when|is|are|was|were|be|has|have|had|can|will|this|an?|any|no
    |each|every|all|both|another|i|you|he|she|it|we|they|them|him|us|me|there|here|together|alone|only|too
    |so|if|because|just|not|most|apart|facing|sat|stood|lay|hung|ran|made|set|seen|held|the|these|those|my
    |your|his|her|its|our|their|some|several|many|few|lots
"""
LABEL = r"""
    \b(?:number|no|nr|version|v|engine|formula|level|size|mark|mk|type|route|page|chapter|top|iso|seed|steps?
    |war|windows|gen|generation|volume|episode|season|part|room|figure|model|class|phase|apollo|aged?)\.?\s+$
    |(?-i:[a-z][A-Z])\w*\s+$
"""
UNITS = r"""
    (?:mm|cm|m|km|inche?|meter|metre|mile|kg|kilogram|g|gram|lb|oz|ounce|ml|l|liter|ft|gallon|px|pixel
    |megapixel|degree|year|yr|month|week|day|hour|minute|min|second|sec|time|percent|hz|fps|mph|watt|bit
    |third|fourth|fifth|decade|litre)s?|k|s|x|d|mp|am|pm|dollar|euro|cent|pound|o['’]clock
    |(?:foot|feet|stories)\s+(?:tall|high|long|wide|deep|away)
"""
ADJECTIVES = r"""
    red|green|blue|yellow|orange|purple|violet|pink|brown|black|white|gray|grey|golden|silver|beige
    |turquoise|colou?rful|bright|dark|light|pale|vivid|big|small|large|tiny|little|huge|giant|enormous
    |massive|miniature|medium|tall|short|long|wide|narrow|thin|thick|fat|slim|old|new|young|ancient|modern
    |vintage|antique|rusty|fresh|ripe|raw|juicy|shiny|glossy|matte|dirty|clean|empty|full|open|round|square
    |flat|fluffy|furry|soft|hard|smooth|rough|wet|dry|hot|cold|warm|cute|nice|adorable|beautiful|pretty|happy
    |sad|angry|funny|strange|elegant|fancy|simple|plain|identical|similar|different|distinct|separate
    |individual|single|other|more|same|wooden|metal|metallic|plastic|ceramic|leather|transparent|smiling
    |laughing|dancing|glowing|floating|hanging|standing|sitting|burning|jumping|sleeping|flying|realistic
    |cartoon|whole|perfect|delicious|tasty|sweet|wild|male|female|very|extremely|broken
"""
NAMES = r"""
    hot[ ]dog|hot[ ]air|hot[ ]tub|potted[ ]plant|stuffed[ ]animal|stuffed[ ]toy|sleeping[ ]bag
    |flying[ ]saucer|golden[ ]retriever|sweet[ ]potato|light[ ]bulb|light[ ]switch|red[ ]panda|brown[ ]bear
    |black[ ]bear|black[ ]hole|blue[ ]whale|blue[ ]jay|high[ ]heel|hard[ ]drive|wild[ ]boar|green[ ]bean
    |orange[ ]juice|orange[ ]tree|orange
"""
TWO_LEGGED = "scissors|sunglasses|eyeglasses|jeans|trousers|pants|shorts|tights|tongs|tweezers|pliers|pyjamas"
# Plurals that are their own singular: inflect does not know them, or finds a "jean" and a "clothe".
SAME = TWO_LEGGED + "|clothes|bison|squid|shrimp|cattle|koi|samurai|ninja|swine|buffalo|lego|pok[eé]mon"
NO_PLURAL = r"""
    .?|.*['’]..?|.*ss|.*(?<!men)(?<!gur)(?<!em)(?<!gn)(?<!tut)(?<!ea)us|axis|gas|atlas|rhinoceros
    |.*(?:s|pol|ir|ib|tenn|mant|trell|debr|pelv)is|.*(?:lens|canvas|christmas)
"""
NO_VERB = r"""
    .*(?:string|swing|spring|building|painting|drawing|ceiling|thing|pudding|ling|bed|shed|seed|weed|fly|sled
    |lily|jelly|belly)|(?:ear)?ring|king|wing|wedding|sewing|dining|parking|frying
"""
PLACE = "in|on|onto|into|inside|within|across|along|around|through|upon|atop"
TELLS_HOW = rf"\b(?:each\s+\w+|(?:{PLACE})(?:\s+(?:{OWNERS}))?)\s+$"
WORD = re.compile(r"[^\W_]+(?:[-'’]+[^\W_]+)*")
NEXT_WORD = re.compile(rf"\s*(?P<joint>,\s*(?:and\s+)?|(?:and|&)\s+)?(?P<word>{WORD.pattern})", re.I)


def matches(kind: str, word: str) -> bool:
    return re.fullmatch(kind, word, re.X) is not None


def key(noun: str) -> tuple[str, ...]:
    """The noun's words in the singular: what "Traffic Cones" and "traffic cone" have in common."""
    words = WORD.findall(noun.lower())
    return (*words[:-1], singular(words[-1]) or words[-1]) if words else ()


def noun_and_plural(words: tuple[str, ...]) -> tuple[str, str]:
    last = words[-1] if singular(words[-1]) else engine().plural_noun(words[-1])
    return " ".join(key(" ".join(words))), " ".join([*words[:-1], last])


def is_participle(word: str) -> bool:
    return len(word) > 3 and word.endswith(("ing", "ed", "ly")) and not matches(NO_VERB, word)


def is_adjective(word: str) -> bool:
    decorated = is_participle(word) and not word.endswith("ing")
    numbered = word[0].isdigit() or word.partition("-")[0] in numbers()  # "3D", "four-leaf"
    return matches(ADJECTIVES, word) or decorated or numbered or word.endswith(("-old", "-like"))


def ends_phrase(word: str) -> bool:
    return matches(ENDS, word) or word.isdigit() or word in numbers()


@lru_cache(maxsize=4096)
def singular(word: str) -> str | None:
    """The singular of a plural (of "sheep" too), None for anything else."""
    if matches(SAME, word) or matches(NO_PLURAL, word):
        return word if matches(SAME, word) else None
    odd = {"cacti": "cactus", "fungi": "fungus", "octopi": "octopus"}
    return odd.get(word) or engine().singular_noun(word) or None


@lru_cache(maxsize=1)
def engine() -> inflect.engine:
    """inflect, without typeguard rewriting each of its functions at import: two seconds of 2.1."""
    guard: Any = import_module("typeguard") if find_spec("typeguard") else SimpleNamespace(typechecked=None)
    check, guard.typechecked = guard.typechecked, lambda function: function
    try:
        import inflect
    finally:
        guard.typechecked = check
    return inflect.engine()


@lru_cache(maxsize=1)
def numbers() -> dict[str, int]:
    return {str(engine().number_to_words(n)): n for n in range(LARGEST + 1)}  # type: ignore[arg-type]
