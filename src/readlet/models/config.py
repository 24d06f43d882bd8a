"""The settings of a stored model: how it encodes texts, and the sizes of its network.

Every kind of model has its own in the `config.py` of its folder; `config.json` holds them, and
loading needs nothing else. The recipe that a model was trained with has the same sections, and is
turned into settings by its method `config`.
"""

import math
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, ValidationError, model_validator

from readlet.storage.sections import AffectsCompilation, Count, PartOfNetwork, Positive, Section
from readlet.text.rows import Windows

_LEAST_GAMMA = 1e-6  # below it scores count as equal; `nn/softmax.py` has the same limit
_MOST = sys.float_info.max
StoredAs = Literal["float32", "float16", "int8"]
"""The dtype of the weights on disk; int8: that of matrices."""


class Config(Section):
    """The settings of a model of any kind."""

    kind: str
    stored: StoredAs = "float32"

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Self:
        """The settings in a `config.json`; ValueError if damaged."""
        try:
            return cls.model_validate(
                config["settings"] if "settings" in config else _early(config)
            )
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, ("settings", *first["loc"])))
            raise ValueError(f"{place}: {first['msg']}") from None


def config_of(settings: Config) -> dict[str, Any]:
    """The content of a `config.json` for these settings."""
    return {"architecture": settings.kind, "settings": settings.model_dump(mode="json")}


def kind_of_settings(config: Mapping[str, Any]) -> str:
    """The kind of model of these settings; of an exported model, the original kind."""
    return str((config["settings"] if "settings" in config else config["recipe"]["model"])["kind"])


def _early(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of older models, stored as parts of the recipe."""
    recipe, exported = config["recipe"], config.get("exported", {})
    data, model = recipe["data"], dict(recipe["model"])
    model.pop("null_answer", None)
    found = {"kind": model.pop("kind"), "stored": config.get("stored", "float32"), "model": model}
    found |= {name: recipe[name] for name in ("attention", "loss") if name in recipe}
    if "max_length" in data:
        of_values = data["labels"] == "numbers"
        usual = ["pearson"] if of_values else ["accuracy", "macro_f1"]
        return found | {"max_length": data["max_length"], "metrics": data["metrics"] or usual}
    lengths = ("max_context", "overlap", "max_question", "max_answer")
    null = config["null_answer"] if "null_answer" in config else exported["can_refuse"]
    return found | {name: data[name] for name in lengths} | {"null_answer": null}


class SpanConfig(Config):
    """The settings of a reader. Lengths are in words or subwords."""

    max_context: Annotated[int, Field(ge=1, le=4096)]
    overlap: Count
    max_question: Annotated[int, Field(ge=1, le=512)]
    max_answer: Positive
    null_answer: bool
    """Whether it has scores for "no answer"."""

    @property
    def windows(self) -> Windows:
        """How texts are split."""
        return Windows(self.max_context, self.overlap, self.max_question)

    @model_validator(mode="after")
    def _check_overlap(self) -> "SpanConfig":
        if self.overlap >= self.max_context:
            raise ValueError("overlap must be smaller than max_context")
        return self


def _gamma(value: Any) -> float | str:
    """A cap of NormSoftmax; infinity is stored by name because JSON has no such number."""
    if isinstance(value, str) and value in ("sqrt(d)", "infinity"):
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not value >= _LEAST_GAMMA or (value > _MOST and value != math.inf):
        allowed = "sqrt(d), infinity or a number of 1e-6 or more"
        raise ValueError(f"Input should be {allowed}")
    return "infinity" if value == math.inf else float(value)


SoftmaxName = Literal["standard", "norm"]
Gamma = Annotated[float | Literal["sqrt(d)", "infinity"], PlainValidator(_gamma)]


class Attention(Section):
    """How self-attention turns scores into weights."""

    traits = (PartOfNetwork, AffectsCompilation)

    softmax: SoftmaxName = "standard"
    """`norm`: NormSoftmax, which first divides the scores by their standard deviation."""
    gamma: Gamma = "sqrt(d)"
    """NormSoftmax divides by at most this value; d is the size of a head."""


class Loss(Section):
    """How the start and end scores become probabilities."""

    traits = (PartOfNetwork,)

    softmax: SoftmaxName = "standard"
    """`norm`: NormSoftmax over the words of a window, in training and prediction. Without a cap, a
    short window limits the confidence: to 0.76 for 10 words, 0.94 for 40, 0.99 for 80."""
    gamma: Gamma = "infinity"
    """NormSoftmax divides by at most this value; d is the hidden size of the model."""


def norm_gamma(chosen: Attention | Loss, width: int) -> float | None:
    """The cap of NormSoftmax as a number; None for the standard softmax."""
    if chosen.softmax == "standard":
        return None
    named = {"sqrt(d)": math.sqrt(width), "infinity": math.inf}
    return named[chosen.gamma] if isinstance(chosen.gamma, str) else chosen.gamma


def gamma_without_effect(**chosen: Attention | Loss) -> list[tuple[str, str]]:
    """Caps that have no effect with the standard softmax, each with the reason."""
    return [
        (f"{section}.gamma", f'{section}.softmax is not "norm"')
        for section, part in chosen.items()
        if part.softmax == "standard" and part.gamma != type(part)().gamma
    ]
