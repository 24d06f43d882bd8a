"""Configurations of augmentation: the published experiments, and bad values."""

from typing import Any

import pytest

from readlet.augmentation.config import PRESETS, AugmentationConfig
from readlet.errors import ReadletError


def test_the_presets_are_the_nine_experiments() -> None:
    """Language, fields and way of each, as in the two tables of the paper."""
    found = {
        name: ("+".join(one["to"]), "+".join(one["fields"]), one["back"])
        for name, one in PRESETS.items()
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


def test_routes_names_and_languages() -> None:
    there, back = AugmentationConfig(to=("es", "fr")), AugmentationConfig(to=("es",), back=True)
    assert [str(pair) for pair in there.route("fr")] == ["en-fr"]
    assert [str(pair) for pair in back.route("es")] == ["en-es", "es-en"]
    assert (there.name("fr"), back.name("es")) == ("fr", "es-back")
    assert (there.language("fr"), back.language("es")) == ("fr", "en")
    # The answer stands in the context, which stays English here.
    assert AugmentationConfig(to=("es",), fields=("question",)).language("es") == "en"


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"to": ()}, "--to"),
        ({"to": ("en",)}, "language 'en': "),
        ({"to": ("es", "es")}, "languages es, es: "),
        ({"fields": ("answer",)}, "field 'answer': "),
        ({"share": float("nan")}, "share nan: "),
    ],
)
def test_values_that_are_refused(values: dict[str, Any], place: str) -> None:
    with pytest.raises(ReadletError, match=place):
        AugmentationConfig(**{"to": ("es",), **values})
