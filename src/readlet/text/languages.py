"""Languages as two-letter codes of ISO 639-1, their function words, and language identification.

It is guessed from the script, the most common words and rarer letters. It is only a hint: it knows
about thirty languages, and prefers "unknown" to a wrong one.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any
from unicodedata import normalize

import regex

from readlet.errors import bad_input

LANGUAGES = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de
    dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia
    id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo
    lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl
    ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti
    tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()
)


def language_code(language: str) -> str:
    """The code of the data's language, without region or script: es for es-MX. Empty if none."""
    code = language.strip().lower().replace("_", "-").split("-")[0]
    return code if code in LANGUAGES else ""


def check_language(code: str, source: str | Path, place: str = "") -> None:
    """An unknown code is an error of one line."""
    if code not in LANGUAGES:
        remedy = "give a code of two letters such as en, es or fr"
        raise bad_input(source, place, f"unknown language {code!r:.40}", remedy)


def checked_codes(codes: Any) -> tuple[str, ...]:
    """Stored codes; anything else is a ValueError."""
    if not isinstance(codes, list) or not all(code in LANGUAGES for code in codes):
        raise ValueError(f"languages: {codes!r:.40} is not a list of codes")
    return tuple(codes)


# By language: the most common words; more words (articles, pronouns, auxiliary verbs, question
# words); and the letters that few languages use, in lower case.
_DATA = json.loads(Path(__file__).with_name("languages.json").read_text("utf-8"))
FUNCTION_WORDS: dict[str, frozenset[str]] = {
    code: frozenset(words.split()) for code, words in _DATA["common"].items()
}


def _by_sign(signs: dict[str, frozenset[str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for code, listed in signs.items():
        for sign in listed:
            found[sign] = (*found.get(sign, ()), code)
    return found


LANGUAGES_OF_WORD = _by_sign(
    {
        code: frozenset(words.split()) | FUNCTION_WORDS.get(code, frozenset())
        for code, words in _DATA["more"].items()
    }
)
"""The languages in which a word is frequent."""
LANGUAGES_OF_LETTER = _by_sign(
    {code: frozenset(letters) for code, letters in _DATA["letters"].items()}
)
"""The languages that use a letter."""


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
_LEAST_LEAD = 1.25  # lead over the next language
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
    # Each word once: a name that a text repeats is no more evidence than another.
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
