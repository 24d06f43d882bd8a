"""The recipe: everything that determines a training run, typed, with a sentence under each field.

The same object is read from a TOML file, changed by `--set section.field=value`, and stored with
the reader that it made. So a new field needs its neutral value in LATER_FIELDS; one that is at work
in training only, a line in `starting.py`; and one outside `model` and `attention` that compiled
programs depend on, a word in `experiments/runner.py`.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    model_validator,
)
from pydantic.fields import FieldInfo

from readlet.errors import ReadletError
from readlet.recipe.gamma import ALLOWED, check_gamma


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("Input should be odd")
    return value


def _gamma(value: Any) -> float | str:
    """A cap of NormSoftmax; infinity by its name, since JSON has no such number."""
    if isinstance(value, str) and value in ("sqrt(d)", "infinity"):
        return value
    try:
        check_gamma(value)
        cap = float(value)
    except (ReadletError, OverflowError):  # no cap, or whole digits that no float holds
        raise ValueError(f"Input should be {ALLOWED}") from None
    return "infinity" if cap == math.inf else cap


# Training mixes seed and step into a number of 64 bits, which is what torch takes.
SEED_LIMIT = 2**32

Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Odd = Annotated[int, Field(ge=1, le=31), AfterValidator(_odd)]
Precision = Literal["float32", "bfloat16", "float16"]
SoftmaxName = Literal["standard", "norm"]
Gamma = Annotated[float | Literal["sqrt(d)", "infinity"], PlainValidator(_gamma)]
FileName = Annotated[str, Field(min_length=1)]
ScheduleName = Literal["constant", "log", "linear", "cosine"]


class _Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


class Data(_Section):
    """What is read, and how much of it at once."""

    train: Annotated[tuple[FileName, ...], Field(min_length=1)] = ("bundled:train",)
    """Files of training questions; `bundled:train` is the corpus of the package."""
    dev: str = "bundled:dev"
    """File on which progress is measured; empty: the held-out questions."""
    share: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Share of the training contexts that is trained on: less is quicker, and shows what more data
    would bring."""
    held_out: Annotated[float, Field(gt=0.0, lt=0.5)] = 0.05
    """Share of the training contexts kept aside to fit the calibration."""
    calibration: str = ""
    """File of questions to fit the calibration on; then nothing is held out."""
    max_context: Annotated[int, Field(ge=16, le=4096)] = 400
    """Longest piece of a context, in words; a longer context is read in windows."""
    overlap: Annotated[int, Field(ge=0)] = 128
    """Words that two neighbouring windows share."""
    max_question: Annotated[int, Field(ge=4, le=512)] = 50
    """Longest question, in words; the rest of a longer one is not read."""
    max_answer: Annotated[int, Field(ge=1, le=512)] = 30
    """Longest answer that is given, in words."""

    @model_validator(mode="after")
    def _windows_advance(self) -> "Data":
        if self.overlap >= self.max_context:
            raise ValueError("data.overlap must be smaller than data.max_context")
        return self


class Words(_Section):
    """Which words and characters the reader knows."""

    vectors: tuple[FileName, ...] = ()
    """Files of word vectors (GloVe or fastText text, also .gz); several are concatenated."""
    max_words: Positive = 200_000
    """At most this many words get a frozen vector, the first of the files."""
    trainable_words: Annotated[int, Field(ge=0)] = 5_000
    """At most this many frequent words without a vector get a trainable one."""
    min_count: Positive = 5
    """A word without a vector must occur this often in training to get a trainable one."""
    width: Positive = 100
    """Features of a word when no vectors are given."""
    max_characters: Annotated[int, Field(ge=4, le=64)] = 16
    """Characters of a word that are read."""
    min_character_count: Positive = 5
    """A rarer character is unknown."""


class Model(_Section):
    """The numbers of QACNNnet; `qacnn-paper` has those of its paper."""

    width: Annotated[int, Field(ge=4, le=2048)] = 128
    """Features of every word after the embedding (d)."""
    character_width: Positive = 200
    """Features of a character."""
    character_filters: Annotated[int, Field(ge=0)] = 128
    """Filters of the character convolution: features that characters add to a word; 0: none."""
    character_kernel: Odd = 5
    """Characters that a filter sees."""
    highway_layers: Positive = 2
    """Highway layers after the projection."""
    embedding_convolutions: Positive = 4
    """Convolutions of the embedding encoder block."""
    embedding_kernel: Odd = 7
    """Words that a convolution of the embedding encoder sees."""
    blocks: Positive = 7
    """Model encoder blocks; the same ones are run three times."""
    convolutions: Positive = 2
    """Convolutions of each model encoder block."""
    kernel: Odd = 5
    """Words that a convolution of a model encoder block sees."""
    heads: Positive = 8
    """Attention heads."""
    head_width: Positive = 16
    """Features of one attention head."""
    feed_forward: Positive = 128
    """Inner width of the feed-forward sublayers."""
    match_features: bool = True
    """Tell each context word whether it stands in the question too."""
    null_answer: bool = True
    """A place for "no answer"; used only when the training data has such questions."""
    dropout: Share = 0.1
    """Dropout of words and layers."""
    input_dropout: Share = 0.0
    """Dropout of what each layer of a block reads, besides that of what it writes."""
    character_dropout: Share = 0.05
    """Dropout of characters."""
    last_survival: Annotated[float, Field(gt=0.0, le=1.0)] = 0.9
    """Stochastic depth: probability that the last layer is kept."""


class Attention(_Section):
    """How self-attention turns scores into weights."""

    softmax: SoftmaxName = "standard"
    """`norm`: NormSoftmax, which divides the scores by their deviation first."""
    gamma: Gamma = "sqrt(d)"
    """NormSoftmax divides by no more than this; d is the width of a head."""


class Loss(_Section):
    """How the scores of first and last words become probabilities."""

    softmax: SoftmaxName = "standard"
    """`norm`: NormSoftmax over the words of a window, in training and in answering. Without a cap
    few words bound what it can be sure of: 0.76 over ten words, 0.94 over forty, 0.99 over 80."""
    gamma: Gamma = "infinity"
    """NormSoftmax divides by no more than this; d is the width of the model."""


class Training(_Section):
    """How the weights are found."""

    start: str = ""
    """A reader's folder: training begins with its words and weights; empty: from nothing."""
    start_share: Share = 0.0
    """Share of that reader's weights in the final ones: it learns anew and forgets less."""
    teacher: str = ""
    """A reader's folder: its probabilities are learned besides the gold answers; empty: none."""
    teacher_share: Share = 0.5
    """Weight of the teacher's probabilities; the rest is that of the gold answers."""
    epochs: Positive = 30
    """Passes over the training questions."""
    batch_size: Positive = 32
    """Questions in a step of one process."""
    accumulate: Positive = 1
    """Batches whose gradients are added up before a step."""
    precision: Precision = "float32"
    """Arithmetic of the forward pass; weights stay in float32."""
    learning_rate: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-3
    """The highest learning rate."""
    schedule: ScheduleName = "log"
    """`log`: QANet's warm-up, then constant; `linear` and `cosine` fall to zero at the end."""
    warmup_steps: Annotated[int, Field(ge=0)] = 1000
    """Steps until the highest learning rate is reached."""
    final_decay: Share = 0.0
    """Share of all steps, the last ones, in which a rate that is else constant falls to zero."""
    restarts: Annotated[int, Field(ge=0)] = 0
    """Hard restarts of the cosine schedule."""
    beta1: Share = 0.8
    """Adam's decay of the mean gradient."""
    beta2: Share = 0.999
    """Adam's decay of the squared gradient."""
    epsilon: Annotated[float, Field(gt=0.0)] = 1e-7
    """Adam's epsilon."""
    l2: Annotated[float, Field(ge=0.0)] = 3e-7
    """Weight of the squared norm of the weights."""
    clip: Annotated[float, Field(gt=0.0)] = 5.0
    """Largest norm of a gradient."""
    label_smoothing: Share = 0.0
    """Share of the target spread evenly over the passage."""
    ema: Share = 0.9999
    """Decay of the averaged weights, which are the ones kept; 0 turns averaging off."""
    evaluate_every: Annotated[float, Field(gt=0.0)] = 1.0
    """Epochs between two evaluations."""
    track_softmax: bool = False
    """Log with every evaluation what goes into attention's softmax and what comes out."""
    patience: Annotated[int, Field(ge=0)] = 0
    """Stop after so many evaluations without a better F1; 0: never."""
    checkpoint_every: Positive = 500
    """Steps between two checkpoints."""
    log_every: Positive = 50
    """Steps between two lines of the log, and two looks of the guard."""
    spike: Annotated[float, Field(gt=1.0)] = 3.0
    """Roll back when the loss exceeds its mean by this factor or by 5 nats, or is no number."""
    seed: Annotated[int, Field(ge=0, lt=SEED_LIMIT)] = 0
    """Seed of everything random."""

    @model_validator(mode="after")
    def _decays_once(self) -> "Training":
        if self.final_decay and self.schedule not in ("constant", "log"):
            raise ValueError("training.final_decay needs a schedule that is constant or log")
        return self

    @model_validator(mode="after")
    def _shares_with_something(self) -> "Training":
        if self.start_share and not self.start:
            raise ValueError("training.start_share needs a training.start")
        return self


class Recipe(_Section):
    """A whole training run."""

    name: str = "custom"
    """What the recipe is called; its reader is written to `runs/NAME`."""
    data: Data = Data()
    words: Words = Words()
    model: Model = Model()
    attention: Attention = Attention()
    loss: Loss = Loss()
    training: Training = Training()


LATER_FIELDS: dict[tuple[str, str], Any] = {
    ("training", "track_softmax"): False,
    ("data", "share"): 1.0,
}
"""Fields that recipes have got since runs are known by them, with the value that changes nothing:
runs from before go on, and keep their keys."""
SECTIONS = tuple(field for field in Recipe.model_fields if field != "name")


def explained_fields() -> Iterator[tuple[str, Any, str]]:
    """Every field as `--set` names it, its default, and the sentence under it."""
    usual = Recipe()
    yield "name", usual.name, _sentence(Recipe.model_fields["name"])
    for section in SECTIONS:
        part = getattr(usual, section)
        for field, about in type(part).model_fields.items():
            yield f"{section}.{field}", getattr(part, field), _sentence(about)


def _sentence(about: FieldInfo) -> str:
    return " ".join((about.description or "").split())  # it may take two lines in this file


def norm_gamma(chosen: Attention | Loss, width: int) -> float | None:
    """The cap of NormSoftmax as a number; None for the standard softmax."""
    if chosen.softmax == "standard":
        return None
    named = {"sqrt(d)": math.sqrt(width), "infinity": math.inf}
    return named[chosen.gamma] if isinstance(chosen.gamma, str) else chosen.gamma


def idle_fields(recipe: Recipe) -> list[tuple[str, str]]:
    """Fields that were set and have no effect beside the others, and why."""
    usual, training = Recipe(), recipe.training
    idle = [
        (f"{section}.gamma", f'{section}.softmax is not "norm"')
        for section in ("attention", "loss")
        if getattr(recipe, section).softmax == "standard"
        and getattr(recipe, section).gamma != getattr(usual, section).gamma
    ]
    if training.teacher_share != usual.training.teacher_share and not training.teacher:
        idle.append(("training.teacher_share", "there is no training.teacher"))
    if training.restarts and training.schedule != "cosine":
        idle.append(("training.restarts", 'training.schedule is not "cosine"'))
    return idle


def changed_fields(
    before: dict[str, Any], now: dict[str, Any], sections: Iterable[str] = SECTIONS
) -> list[str]:
    """Fields of dumped recipes that differ, as `--set` names them."""
    return [
        f"{section}.{field}"
        for section in sections
        for field in now[section]
        if before.get(section, {}).get(field) != now[section][field]
    ]
