"""Guess the language of a text from its script and most common words. Only a hint."""

from collections import Counter, defaultdict

import regex

from readlet.encoding.function_words import FUNCTION_WORDS

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
_LANGUAGES_OF: dict[str, list[str]] = defaultdict(list)  # languages by common word
for _code, _common in FUNCTION_WORDS.items():
    for _word in _common:
        _LANGUAGES_OF[_word].append(_code)
_LETTER = regex.compile(r"\p{L}")
_SAMPLE = 1000  # characters: a list of names may precede the first common words
UNKNOWN = "?"


def guess_language(text: str) -> str:
    """A two-letter code, or "?" if unknown. Cyrillic counts as ru, Arabic script as ar."""
    sample = text[:_SAMPLE]
    if not sample.isascii():
        letters = len(_LETTER.findall(sample))
        for code, script in _SCRIPTS.items():
            found = len(script.findall(sample))
            # Japanese also uses Chinese characters, so a tenth of kana is enough.
            if found and found >= letters * (0.1 if code == "ja" else 0.4):
                return code
    sample_words = sample.lower().replace("'", " ").replace("’", " ").split()
    counts = Counter(code for word in sample_words for code in _LANGUAGES_OF.get(word, ()))
    (best, hits), (_, second) = [*counts.most_common(2), (UNKNOWN, 0), (UNKNOWN, 0)][:2]
    return best if hits > max(second, 1) else UNKNOWN
