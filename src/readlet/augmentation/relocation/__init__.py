"""Finding the answer of a question again after its context was translated.

    clue_texts(example, sentences, keep)  what must be translated besides the context
    relocate(example, context, ...)       the answers in its translation, or why they are lost

Pure functions over texts: no engine, and no model of ours.
"""

from readlet.augmentation.relocation.cascade import relocate
from readlet.augmentation.relocation.probe_texts import clue_texts
from readlet.augmentation.relocation.types import Keep, Located, Loss, Lost, Relocated, Stage

__all__ = ["Keep", "Located", "Loss", "Lost", "Relocated", "Stage", "clue_texts", "relocate"]
