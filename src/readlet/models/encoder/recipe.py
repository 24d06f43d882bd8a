"""The recipe of `encoder`: a pretrained encoder of transformers with a span head on top."""

from typing import Annotated, Literal

from pydantic import Field

from readlet.models.config import Attention, Loss, gamma_without_effect
from readlet.models.encoder.config import EncoderConfig, EncoderNetwork
from readlet.recipe.recipe import (
    Model,
    Recipe,
    ScheduleName,
    SpanData,
    SpanTraining,
    Training,
)
from readlet.storage.sections import Count, Share


class EncoderData(SpanData):
    """Lengths are in subwords. With three special tokens they add up to 384."""

    max_context: Annotated[int, Field(ge=16, le=4096)] = 320
    """Maximum length of a context window, in subwords; a longer context is split into windows."""
    max_question: Annotated[int, Field(ge=4, le=512)] = 61
    """Maximum length of a question, in subwords; a longer one is truncated."""


class EncoderModel(EncoderNetwork, Model):
    """The encoder and how its layers are mixed."""

    kind: Literal["encoder"] = "encoder"
    """A pretrained encoder (BERT, ALBERT, RoBERTa, DeBERTa and others) with a span head."""
    null_answer: bool = True
    """Score "no answer" at the first token; used only if the training data has such questions."""


class FineTuning(Training):
    """How a pretrained encoder is trained, for any task."""

    epochs: Annotated[int, Field(ge=1, le=10**9)] = 2
    """Passes over the training questions."""
    learning_rate: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-4
    """Peak learning rate."""
    layer_decay: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Factor of the learning rate from each layer to the one below; below 1, the first layers
    change less."""
    weight_decay: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.01
    """Decoupled weight decay (AdamW) of matrices; biases and norms have none."""
    schedule: ScheduleName = "linear"
    """`linear` and `cosine` decay to zero; `log`: QANet's warm-up, then constant."""
    warmup_steps: Count = 200
    """Steps until the peak learning rate is reached."""
    beta1: Share = 0.9
    """Adam's decay rate of the mean gradient."""
    epsilon: Annotated[float, Field(gt=0.0)] = 1e-8
    """Adam's epsilon."""
    l2: Annotated[float, Field(ge=0.0)] = 0.0
    """Coefficient of the L2 penalty (the squared norm of the weights)."""
    clip: Annotated[float, Field(gt=0.0)] = 1.0
    """Maximum norm of the gradient."""
    ema: Share = 0.0
    """Decay rate of the averaged weights, which are the ones saved; 0 turns averaging off."""


class EncoderTraining(FineTuning, SpanTraining):
    """How an encoder reader is trained."""

    stored: Literal["float32", "int8"] = "float32"
    """How the finished reader is stored: `int8` means matrices in eight bits and an ONNX model
    beside them, for use without torch, like the bundled reader."""


class EncoderRecipe(Recipe):
    """A complete training run of an encoder reader."""

    data: EncoderData = EncoderData()
    model: EncoderModel = EncoderModel()
    attention: Attention = Attention()
    loss: Loss = Loss()
    training: EncoderTraining = EncoderTraining()

    def config(self, *, null_answer: bool) -> EncoderConfig:
        sizes = self.model.model_dump(include={*EncoderNetwork.model_fields})
        return EncoderConfig(
            **self.data.lengths,
            null_answer=null_answer,
            model=EncoderNetwork(**sizes),
            attention=self.attention,
            loss=self.loss,
        )

    def without_effect_in_kind(self) -> list[tuple[str, str]]:
        gammas = gamma_without_effect(attention=self.attention, loss=self.loss)
        return gammas + l2_without_effect(self.training)


def l2_without_effect(training: FineTuning) -> list[tuple[str, str]]:
    if training.l2 and training.weight_decay:
        return [("training.l2", "training.weight_decay is not 0")]
    return []
