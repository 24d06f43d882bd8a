"""The recipe: everything that determines a training run, typed, with a sentence under each field.

The same object is read from a TOML file, changed by `--set section.field=value`, and stored with
the reader that it made. Here is what the recipes of all kinds of models share; each kind adds its
own sections and fields in a file beside this one, such as `qacnn.py`, and registers them. What the
rest of the program must know about a field stands in its annotation: see `traits.py`.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from readlet.encoding.windows import Windows
from readlet.recipe.traits import (
    Later,
    PartOfNetwork,
    ShapesPrograms,
    SourceFile,
    SourceReader,
)

# Training mixes seed and step into a number of 64 bits, which is what torch takes.
SEED_LIMIT = 2**32

Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Precision = Literal["float32", "bfloat16", "float16"]
FileName = Annotated[str, Field(min_length=1)]
ScheduleName = Literal["constant", "log", "linear", "cosine"]


class Section(BaseModel):
    """A table of a recipe's TOML file."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False
    )
    traits: ClassVar[tuple[type, ...]] = ()
    """Traits of all fields of the section."""


class Data(Section):
    """Which questions or sentences are read."""

    train: Annotated[tuple[FileName, ...], Field(min_length=1), SourceFile] = ("bundled:train",)
    """Files of training questions; `bundled:train` is the corpus of the package."""
    dev: Annotated[str, SourceFile] = "bundled:dev"
    """File on which progress is measured; empty: the held-out questions."""
    share: Annotated[float, Field(gt=0.0, le=1.0), Later(1.0)] = 1.0
    """Share of the training contexts that is trained on: less is quicker, and shows what more data
    would bring."""
    held_out: Annotated[float, Field(gt=0.0, lt=0.5)] = 0.05
    """Share of the training contexts kept aside to fit the calibration."""
    calibration: Annotated[str, SourceFile] = ""
    """File of questions to fit the calibration on; then nothing is held out."""


class SpanData(Data):
    """Which questions are read, and how much of their contexts at once.

    Lengths count places: words for `qacnn`, subwords for encoders.
    """

    max_context: Annotated[int, Field(ge=16, le=4096)] = 400
    """Longest piece of a context, in places (words for qacnn, subwords for encoders); a longer
    context is read in windows."""
    overlap: Annotated[int, Field(ge=0)] = 128
    """Places that two neighbouring windows share."""
    max_question: Annotated[int, Field(ge=4, le=512)] = 50
    """Longest question, in places; the rest of a longer one is not read."""
    max_answer: Annotated[int, Field(ge=1, le=512)] = 30
    """Longest answer that is given, in places."""

    @property
    def windows(self) -> Windows:
        """How texts are cut."""
        return Windows(self.max_context, self.overlap, self.max_question)

    @model_validator(mode="after")
    def _windows_advance(self) -> "SpanData":
        if self.overlap >= self.max_context:
            raise ValueError("data.overlap must be smaller than data.max_context")
        return self


class Model(Section):
    """The numbers of a model; every kind of model has its own."""

    traits = (PartOfNetwork, ShapesPrograms)

    kind: str
    """Kind of model; it decides which other fields a recipe has."""


class Training(Section):
    """How the weights are found."""

    start: Annotated[str, SourceReader] = ""
    """A reader's folder: training begins with its words and weights; empty: from nothing."""
    start_share: Share = 0.0
    """Share of that reader's weights in the final ones: it learns anew and forgets less."""
    teacher: Annotated[str, SourceReader] = ""
    """A reader's folder: its probabilities are learned besides the gold answers; empty: none."""
    teacher_share: Share = 0.5
    """Weight of the teacher's probabilities; the rest is that of the gold answers."""
    epochs: Positive = 30
    """Passes over the training questions."""
    batch_size: Annotated[Positive, ShapesPrograms] = 32
    """Questions in a step of one process."""
    accumulate: Positive = 1
    """Batches whose gradients are added up before a step."""
    precision: Annotated[Precision, ShapesPrograms] = "float32"
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
    track_softmax: Annotated[bool, Later(False)] = False
    """Log with every evaluation what goes into attention's softmax and what comes out."""
    patience: Annotated[int, Field(ge=0)] = 0
    """Stop after so many evaluations without a better F1; 0: never."""
    checkpoint_every: Positive = 500
    """Steps between two checkpoints."""
    log_every: Positive = 50
    """Steps between two lines of the log, and two checks of the guard."""
    spike: Annotated[float, Field(gt=1.0)] = 3.0
    """Roll back when the loss exceeds its mean by this factor or by 5 nats, or is NaN."""
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


class Recipe(Section):
    """A whole training run. Each kind of model has a class of its own, with its own sections."""

    sections: ClassVar[tuple[str, ...]]
    """Names of its sections in order."""

    name: str = "custom"
    """What the recipe is called; its reader is written to `runs/NAME`."""
    data: Data = Data()
    model: Model
    training: Training = Training()

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """How a model is trained comes last, after the sections that a kind adds."""
        own = [field for field in cls.model_fields if field not in ("name", "training")]
        cls.sections = (*own, "training")

    def idle_in_kind(self) -> list[tuple[str, str]]:
        """Idle fields of the sections that a kind adds, and why."""
        return []


def idle_fields(recipe: Recipe) -> list[tuple[str, str]]:
    """Fields that were set and have no effect beside the others, and why."""
    idle, training = recipe.idle_in_kind(), recipe.training
    usual = type(training)()
    if training.teacher_share != usual.teacher_share and not training.teacher:
        idle.append(("training.teacher_share", "there is no training.teacher"))
    if training.restarts and training.schedule != "cosine":
        idle.append(("training.restarts", 'training.schedule is not "cosine"'))
    return idle
