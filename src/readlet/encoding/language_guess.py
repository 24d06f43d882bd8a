"""Guess the language of a text from its script, most common words and rarer letters.

Only a hint: it knows some thirty languages, and it says "unknown" rather than name a wrong one.
"""

from collections import defaultdict
from unicodedata import normalize

import regex

from readlet.encoding.language_words import LANGUAGES_OF_LETTER, LANGUAGES_OF_WORD

_SCRIPTS = {
    "ja": regex.compile(r"[\p{Hiragana}\p{Katakana}]"),
    "zh": regex.compile(r"\p{Han}"),
    "ko": regex.compile(r"\p{Hangul}"),
    "th": regex.compile(r"\p{Thai}"),
    "ar": regex.compile(r"\p{Arabic}"),
    "he": regex.compile(r"\p{Hebrew}"),
    "el": regex.compile(r"\p{Greek}"),
    "ru": regex.compile(r"\p{Cyrillic}"),
    "hi": regex.compile(r"\p{Devanagari}"),
}
# Letters of other languages in the same script: Ukrainian, Serbian and Kazakh; Persian and Urdu;
# Yiddish; Marathi.
_FOREIGN = {
    "ru": frozenset("іїєґўђјљњћџѓќѕәғқңөұүһ"),
    "ar": frozenset("پچژگکیےٹڈڑںھہ"),
    "hi": frozenset("ळ"),
}
_LETTER = regex.compile(r"\p{L}")
_WORD = regex.compile(r"[\p{L}\p{M}]++(?:-[\p{L}\p{M}]++)*+|[¿¡]")
_WITH_APOSTROPHE = regex.compile(r"[\p{L}\p{M}]++'[\p{L}\p{M}]++")
_ELIDED = frozenset("cdjlmnst")  # words of French and Italian, before an apostrophe only
_SAMPLE = 1000  # characters: a list of names may precede the first common words
# A word of one language alone counts 1, one of n languages 1/n; a rarer letter counts half of that.
_LETTER_WEIGHT = 0.5
_LEAST_WEIGHT = 0.9
_LEAST_LEAD = 1.25  # over the next language
UNKNOWN = "?"


def guess_language(text: str) -> str:
    """A two-letter code, or "?" if unknown."""
    sample = normalize("NFC", text[:_SAMPLE])
    if not sample.isascii():
        letters = len(_LETTER.findall(sample))
        for code, script in _SCRIPTS.items():
            found = len(script.findall(sample))
            # Japanese also uses Chinese characters, so a tenth of kana is enough.
            if found and found >= letters * (0.1 if code == "ja" else 0.4):
                is_foreign = not _FOREIGN.get(code, frozenset()).isdisjoint(sample.lower())
                return UNKNOWN if is_foreign else code
    return _by_words(sample.replace("İ", "i").lower().replace("’", "'"))


def _by_words(sample: str) -> str:
    weights: defaultdict[str, float] = defaultdict(float)
    # Each word once: a name that a text repeats is no more evidence than one that it does not.
    for word in {*_WORD.findall(sample), *_WITH_APOSTROPHE.findall(sample)}:
        codes = LANGUAGES_OF_WORD.get(word, ())
        if word in _ELIDED and f"{word}'" not in sample:
            codes = tuple(code for code in codes if code not in ("fr", "it"))
        if codes:
            for code in codes:
                weights[code] += 1.0 / len(codes)
        elif not word.isascii():
            for letter in word:
                codes = LANGUAGES_OF_LETTER.get(letter, ())
                for code in codes:
                    weights[code] += _LETTER_WEIGHT / len(codes)
    ranked = sorted(((weight, code) for code, weight in weights.items()), reverse=True)
    (weight, best), (second, _) = [*ranked, (0.0, UNKNOWN), (0.0, UNKNOWN)][:2]
    return best if weight >= max(_LEAST_WEIGHT, _LEAST_LEAD * second) else UNKNOWN
