"""The languages that a text or a vector may be in: two-letter codes of ISO 639-1."""

from pathlib import Path
from typing import Any

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
    """The code in what the data says, without region or script: es for es-MX. Empty if none."""
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
        raise ValueError(f"languages: {codes!r:.40} is no list of codes")
    return tuple(codes)
