"""Porter's stemmer: removes English endings, so that "dogs" matches "dog" and "running" matches "runs"."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["stem"]

Rules = dict[str, str]
"""Ending -> replacement."""

_STEP_2: Rules = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_STEP_3: Rules = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment"),
    *("ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word; it need not be a word itself.

    Words have the form [C](VC)ᵐ[V], C and V being runs of consonants and vowels. Most endings are removed only if m of
    the rest is large enough. Each step considers only the longest ending that fits, even if it may not be removed.
    Paper: Porter 1980, "An algorithm for suffix stripping". Differs, as its author's own program does: words of one or
    two letters stay, "bli" becomes "ble" (in the paper "abli" "able"), and "logi" becomes "log".
    """
    if len(word) <= 2:
        return word
    word = _past(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(_replace(word, _STEP_2), _STEP_3)
    return _end(_strip(word))


def _shape(word: str) -> str:
    """Map each letter to "c" (consonant) or "v" (vowel). Y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Return the m of [C](VC)ᵐ[V]."""
    return _shape(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _doubled(word: str) -> bool:
    """Whether the word ends in the same consonant twice."""
    return len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("c")


def _short(word: str) -> bool:
    """Whether the word ends like "hop": consonant, vowel, consonant other than w, x and y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and _has_vowel(rest):
            return _mend(rest)
    return word


def _mend(word: str) -> str:
    """Restore the verb after -ed or -ing was removed: conflat(e), hop(p), fil(e)."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _doubled(word):
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _short(word) else word


def _replace(word: str, rules: Rules) -> str:
    ending = max((ending for ending in rules if word.endswith(ending)), key=len, default="")
    rest = word.removesuffix(ending)
    return rest + rules[ending] if ending and _measure(rest) > 0 else word


def _strip(word: str) -> str:
    ending = max((ending for ending in _STEP_4 if word.endswith(ending)), key=len, default="")
    rest = word.removesuffix(ending)
    goes = _measure(rest) > 1 and (ending != "ion" or rest.endswith(("s", "t")))
    return rest if goes else word


def _end(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
