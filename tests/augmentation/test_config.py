"""Configurations of augmentation: the published experiments, and bad values."""

from typing import Any

import pytest

from readlet.augmentation.config import PRESETS, AugmentationConfig, known_preset
from readlet.errors import ReadletError


def test_the_presets_are_the_nine_experiments() -> None:
    """Language, fields and way of each, as in the two tables of the paper."""
    found = {
        name: ("+".join(one.to), "+".join(one.fields), one.back) for name, one in PRESETS.items()
    }
    assert found == {
        "A1": ("fr", "question", True),
        "B1": ("fr", "context", True),
        "C1": ("fr", "question+context", True),
        "B2": ("de", "context", True),
        "F2": ("fr+de", "context", True),
        "D1": ("fr", "context", False),
        "D2": ("de", "context", False),
        "D3": ("es", "context", False),
        "F1": ("fr+de", "context", False),
    }
    assert len({one.about for one in PRESETS.values()}) == 9


def test_routes_names_and_languages() -> None:
    there, back = AugmentationConfig(to=("es", "fr")), AugmentationConfig(to=("es",), back=True)
    assert [str(pair) for pair in there.route("fr")] == ["en-fr"]
    assert [str(pair) for pair in back.route("es")] == ["en-es", "es-en"]
    assert (there.name("fr"), back.name("es")) == ("fr", "es-back")
    assert (there.language("fr"), back.language("es")) == ("fr", "en")
    # The answer stands in the context, which stays English here.
    assert AugmentationConfig(to=("es",), fields=("question",)).language("es") == "en"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"to": ()}, "no language to translate into; name one, such as --to es"),
        ({"to": ("en",)}, "language 'en': that is the language of the data; give another"),
        ({"to": ("Spanish",)}, "language 'Spanish': no code of ISO 639; give one like es"),
        ({"to": ("es", "es")}, "languages es, es: one is given twice"),
        ({"fields": ()}, "field 'none': unknown or repeated; known: question, context"),
        ({"fields": ("answer",)}, "field 'answer': unknown or repeated; known: question, context"),
        ({"keep": "most"}, "keep 'most': unknown or repeated; known: strict, verified, all"),
        ({"share": 0.0}, "share 0.0: not above 0 and up to 1; give such as 0.5"),
        ({"share": float("nan")}, "share nan: not above 0"),
    ],
)
def test_values_that_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ReadletError) as error:
        AugmentationConfig(**{"to": ("es",), **values})
    assert message in str(error.value)


def test_an_unknown_preset() -> None:
    with pytest.raises(ReadletError, match=r"preset 'Z9': unknown; known: A1, B1, .*F1$"):
        known_preset("Z9")
