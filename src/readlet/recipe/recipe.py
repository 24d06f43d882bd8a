"""The recipe: everything that determines a training run, typed, with one sentence about each field.

The same object is read from a TOML file, changed by `--set section.field=value`, and stored as
text with the trained reader. This file has the part that all kinds of models share; each kind adds
its own sections and fields in the `recipe.py` of its folder.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, Field, model_validator
from pydantic.fields import FieldInfo

from readlet.data.columns import DataFormat, parse_columns
from readlet.storage.files import check_encoding
from readlet.storage.sections import (
    AffectsCompilation,
    Count,
    FileName,
    Name,
    PartOfNetwork,
    Positive,
    Section,
    Share,
    SourceFile,
    SourceReader,
)
from readlet.text.languages import LANGUAGES
from readlet.text.rows import Windows

# Training combines seed and step into a 64-bit number, the type of torch's seeds.
SEED_LIMIT = 2**32

Precision = Literal["float32", "bfloat16", "float16"]
ScheduleName = Literal["constant", "log", "linear", "cosine"]


def _checked_columns(pairs: tuple[str, ...]) -> tuple[str, ...]:
    """Sorted: their order changes nothing, so it must not change a run's key."""
    return tuple(f"{field}={name}" for field, name in sorted(parse_columns(pairs).items()))


def _checked_folds(count: int) -> int:
    if count == 1:
        raise ValueError("with a single part nothing is left to train on; give 0, or 2 or more")
    return count


def _checked_encoding(name: str) -> str:
    check_encoding(name)
    return name


def _checked_language(code: str) -> str:
    if code and code not in LANGUAGES:
        raise ValueError(f"unknown language {code!r:.40}; give a code such as en or es")
    return code


class Data(Section):
    """Which data is used."""

    train: Annotated[tuple[FileName, ...], Field(min_length=1), SourceFile] = ("bundled:train",)
    """Files of training questions; `bundled:train` is the bundled corpus."""
    dev: Annotated[Name, SourceFile] = "bundled:dev"
    """File for the evaluations during training; empty: the held-out questions."""
    share: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Fraction of the training contexts to train on; a smaller one is faster and shows how much
    more data would help."""
    folds: Annotated[int, Field(ge=0, le=1000), AfterValidator(_checked_folds)] = 0
    """Parts into which the contexts are divided, by a digest of their text; all but the part
    data.fold are trained on, and as a teacher the reader predicts that part only; 0: none."""
    fold: Count = 0
    """Number of the part that is not trained on, from 0 to data.folds - 1."""
    held_out: Annotated[float, Field(gt=0.0, lt=0.5)] = 0.05
    """Fraction of the training contexts held out to fit the calibration."""
    calibration: Annotated[Name, SourceFile] = ""
    """File of questions to fit the calibration on; if given, nothing is held out."""
    cross_validation: Annotated[int, Field(ge=0, le=100)] = 0
    """Parts of a cross-validation, which fits the calibration and chooses the number of epochs
    where a start reader is fine-tuned on fewer than 200 questions; 0: some are held out instead."""
    replay: Annotated[tuple[FileName, ...], SourceFile] = ()
    """Files of other questions, from which as many as those of data.train, at most, are drawn and
    trained on too: they keep a start reader from forgetting such questions."""
    columns: Annotated[tuple[str, ...], AfterValidator(_checked_columns)] = ()
    """Names of columns in the files, as FIELD=NAME, such as context=passage; for all files with
    named columns."""
    encoding: Annotated[str, AfterValidator(_checked_encoding)] = ""
    """Text encoding of the files, such as cp1252; empty: UTF-8, or UTF-16 with a byte order mark.
    The bundled corpus keeps its own."""

    @property
    def data_format(self) -> DataFormat:
        return DataFormat.parse(self.columns, self.encoding)

    @model_validator(mode="after")
    def _check_fold(self) -> "Data":
        if self.fold and not self.folds:
            raise ValueError("data.fold needs data.folds, the number of parts")
        if self.folds and self.fold >= self.folds:
            raise ValueError(f"data.fold must be smaller than data.folds, {self.folds}")
        return self


class SpanData(Data):
    """Which questions are used, and how long contexts are split into windows.

    Lengths are in tokens: words for `qacnn`, subwords for encoders.
    """

    max_context: Annotated[int, Field(ge=16, le=4096)] = 400
    """Maximum length of a context window, in tokens (words for qacnn, subwords for encoders); a
    longer context is split into windows."""
    overlap: Count = 128
    """Tokens that two neighbouring windows share."""
    max_question: Annotated[int, Field(ge=4, le=512)] = 50
    """Maximum length of a question, in tokens; a longer one is truncated."""
    max_answer: Annotated[int, Field(ge=1, le=512)] = 30
    """Maximum length of a predicted answer, in tokens."""
    language: Annotated[str, AfterValidator(_checked_language)] = ""
    """Language of the contexts for which the data gives none, as a code such as es; empty: it is
    guessed. Only readers with words.languages use it."""
    question_language: Annotated[str, AfterValidator(_checked_language)] = ""
    """The same for questions; empty: guessed, or that of the context."""

    @property
    def windows(self) -> Windows:
        """How texts are split."""
        return Windows(self.max_context, self.overlap, self.max_question)

    @property
    def lengths(self) -> dict[str, Any]:
        """The same in the settings of a trained reader."""
        return self.model_dump(include={"max_context", "overlap", "max_question", "max_answer"})

    @model_validator(mode="after")
    def _check_overlap(self) -> "SpanData":
        if self.overlap >= self.max_context:
            raise ValueError("data.overlap must be smaller than data.max_context")
        return self


class Model(Section):
    """The hyperparameters of a model; every kind of model has its own."""

    traits: ClassVar[tuple[type, ...]] = (PartOfNetwork, AffectsCompilation)

    kind: str
    """Kind of model; it determines which other fields a recipe has."""


class Training(Section):
    """How the model is trained."""

    start: Annotated[Name, SourceReader] = ""
    """Folder of a reader whose vocabulary and weights training starts from; empty: from scratch."""
    start_share: Share = 0.0
    """Fraction of that reader's weights in the final weights; it reduces forgetting."""
    epochs: Positive = 30
    """Passes over the training questions."""
    batch_size: Annotated[int, Field(ge=1, le=2**20), AffectsCompilation] = 32
    """Questions per batch in each process."""
    accumulate: Positive = 1
    """Batches whose gradients are accumulated for one optimiser step."""
    precision: Annotated[Precision, AffectsCompilation] = "float32"
    """Precision of the forward pass; weights stay in float32."""
    learning_rate: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-3
    """Peak learning rate."""
    schedule: ScheduleName = "log"
    """`log`: QANet's warm-up, then constant; `linear` and `cosine` decay to zero."""
    warmup_steps: Count = 1000
    """Steps until the peak learning rate is reached."""
    final_decay: Share = 0.0
    """Fraction of all steps, at the end, in which an otherwise constant rate decays to zero."""
    restarts: Count = 0
    """Hard restarts of the cosine schedule."""
    beta1: Share = 0.8
    """Adam's decay rate of the mean gradient."""
    beta2: Share = 0.999
    """Adam's decay rate of the squared gradient."""
    epsilon: Annotated[float, Field(gt=0.0)] = 1e-7
    """Adam's epsilon."""
    l2: Annotated[float, Field(ge=0.0)] = 3e-7
    """Coefficient of the L2 penalty (the squared norm of the weights)."""
    clip: Annotated[float, Field(gt=0.0)] = 5.0
    """Maximum norm of the gradient."""
    label_smoothing: Share = 0.0
    """Fraction of the target probability that is spread evenly over the passage."""
    ema: Share = 0.9999
    """Decay rate of the averaged weights, which are the ones saved; 0 turns averaging off."""
    evaluate_every: Annotated[float, Field(gt=0.0, le=1e9)] = 1.0
    """Epochs between two evaluations."""
    patience: Count = 0
    """Keep the weights of the best evaluation, and stop after this many without a better score; 0:
    keep the last weights, and never stop."""
    checkpoint_every: Positive = 500
    """Steps between two checkpoints."""
    log_every: Positive = 50
    """Steps between two lines of the log, and between two checks of the loss."""
    spike: Annotated[float, Field(gt=1.0)] = 3.0
    """Roll back when the loss exceeds its mean by this factor or by 5 nats, or is NaN."""
    seed: Annotated[int, Field(ge=0, lt=SEED_LIMIT)] = 0
    """Random seed."""

    @model_validator(mode="after")
    def _check_together(self) -> "Training":
        if self.final_decay and self.schedule not in ("constant", "log"):
            raise ValueError("training.final_decay needs a schedule that is constant or log")
        if self.start_share and not self.start:
            raise ValueError("training.start_share needs a training.start")
        return self


class SpanTraining(Training):
    """How a reader is trained, with distillation from other readers."""

    teacher: Annotated[tuple[FileName, ...], SourceReader] = ()
    """Folders of readers to distil: the mean of their probabilities becomes a target next to the
    gold answers; a reader trained with data.folds predicts the part that it did not see."""
    teacher_share: Share = 0.5
    """Weight of the teachers' probabilities in the loss; the gold answers have the rest."""
    teacher_temperature: Annotated[float, Field(gt=0.0, le=1000.0)] = 1.0
    """Temperature: the teachers' scores are divided by it before the softmax; above 1 the
    distribution is flatter."""


class Recipe(Section):
    """A complete training run. Each kind of model has its own class with its own sections."""

    sections: ClassVar[tuple[str, ...]]
    """Names of its sections, in order."""

    name: Name = "custom"
    """Name of the recipe; its reader is written to `runs/NAME`."""
    data: Data = Data()
    model: Model
    training: Training = Training()

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """The training section comes last, after the sections that a kind adds."""
        own = [field for field in cls.model_fields if field not in ("name", "training")]
        cls.sections = (*own, "training")

    def without_effect_in_kind(self) -> list[tuple[str, str]]:
        """Fields without effect in the sections that a kind adds, each with the reason."""
        return []


def fields_without_effect(recipe: Recipe) -> list[tuple[str, str]]:
    """Fields that were set but have no effect given the other fields, each with the reason."""
    found, training = recipe.without_effect_in_kind(), recipe.training
    default = type(training)()
    if isinstance(training, SpanTraining) and not training.teacher:
        for name in ("teacher_share", "teacher_temperature"):
            if getattr(training, name) != getattr(default, name):
                found.append((f"training.{name}", "there is no training.teacher"))
    if training.restarts and training.schedule != "cosine":
        found.append(("training.restarts", 'training.schedule is not "cosine"'))
    return found


class RecipeField(NamedTuple):
    section: str
    name: str
    info: FieldInfo
    value: Any

    @property
    def path(self) -> str:
        """The field as `--set` names it."""
        return f"{self.section}.{self.name}"


def fields_of(recipe: Recipe | type[Recipe]) -> Iterator[RecipeField]:
    """All fields of all sections, in order; for a class, with their defaults."""
    recipe = _with_defaults(recipe)
    for section in recipe.sections:
        part = getattr(recipe, section)
        for name, info in type(part).model_fields.items():
            yield RecipeField(section, name, info, getattr(part, name))


def fields_with(recipe: Recipe | type[Recipe], *traits: type) -> list[RecipeField]:
    """The fields with one of the traits, set on the field or on its section."""
    recipe = _with_defaults(recipe)
    return [
        field
        for field in fields_of(recipe)
        if any(
            mark in traits
            for mark in (*field.info.metadata, *getattr(recipe, field.section).traits)
        )
    ]


def names_in(value: str | tuple[str, ...]) -> list[str]:
    """The names in a field of files or readers; an empty name means none."""
    return [name for name in ([value] if isinstance(value, str) else value) if name]


def changed_fields(before: Mapping[str, Any], now: Recipe) -> list[str]:
    """Paths of the fields of a recipe that differ from dumped values, as used by `--set`.

    If the kind of model differs, only the kind is listed: the other fields cannot be compared.
    """
    values = now.model_dump(mode="json")
    parts = {section: part for section, part in before.items() if isinstance(part, Mapping)}
    changed = [
        field.path
        for field in fields_of(now)
        if parts.get(field.section, {}).get(field.name) != values[field.section][field.name]
    ]
    return ["model.kind"] if "model.kind" in changed else changed


def _with_defaults(recipe: Recipe | type[Recipe]) -> Recipe:
    return recipe.model_validate({}) if isinstance(recipe, type) else recipe
