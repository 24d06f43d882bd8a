"""Sections of a recipe that choose between the standard softmax and NormSoftmax (2022)."""

import math
from typing import Annotated, Any, Literal

from pydantic import PlainValidator

from readlet.errors import ReadletError
from readlet.nn.normsoftmax.gamma import ALLOWED, check_gamma
from readlet.recipe.recipe import Section
from readlet.recipe.traits import AffectsCompilation, PartOfNetwork


def _gamma(value: Any) -> float | str:
    """A cap of NormSoftmax; infinity is stored by name because JSON has no such number."""
    if isinstance(value, str) and value in ("sqrt(d)", "infinity"):
        return value
    try:
        check_gamma(value)
        cap = float(value)
    except (ReadletError, OverflowError):  # not a cap, or an integer too large for a float
        raise ValueError(f"Input should be {ALLOWED}") from None
    return "infinity" if cap == math.inf else cap


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


def gamma_without_effect(**chosen: Attention | Loss) -> list[tuple[str, str]]:
    """Caps that were set though the section has the standard softmax, each with the reason."""
    return [
        (f"{section}.gamma", f'{section}.softmax is not "norm"')
        for section, part in chosen.items()
        if part.softmax == "standard" and part.gamma != type(part)().gamma
    ]


def norm_gamma(chosen: Attention | Loss, width: int) -> float | None:
    """The cap of NormSoftmax as a number; None for the standard softmax."""
    if chosen.softmax == "standard":
        return None
    named = {"sqrt(d)": math.sqrt(width), "infinity": math.inf}
    return named[chosen.gamma] if isinstance(chosen.gamma, str) else chosen.gamma
