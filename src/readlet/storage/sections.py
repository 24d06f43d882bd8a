"""Sections of TOML and JSON files, typed: strict, unchangeable, with a sentence about each field.

A trait tells the rest of the program something about a field. It is part of the annotation,
`dev: Annotated[str, SourceFile] = ""`, or of the `traits` of the section, where it applies to all
fields, future ones included. Run keys, resuming, starting from a reader and the lookup of files
depend on traits, never on names of fields.
"""

import ast
import inspect
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any, ClassVar, get_origin

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

# Limits far above any use: values beyond them are typos, or would only fill the memory.
Count = Annotated[int, Field(ge=0, le=10**9)]
Positive = Annotated[int, Field(ge=1, le=10**9)]
Size = Annotated[int, Field(ge=1, le=16_384)]
Depth = Annotated[int, Field(ge=1, le=256)]
Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Name = Annotated[str, Field(pattern=r"^[^\x00]*$")]
FileName = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]


class SourceFile:
    """A file name, or a tuple of them: files are identified by their content, not by their path."""


class SourceReader:
    """A reader's folder, or a tuple of them: identified by the content of their files."""


class SourceEncoder:
    """A pretrained encoder: a folder, identified by the content of its files, or another name."""


class PartOfNetwork:
    """Part of the architecture: a reader that training starts from must have the same value."""


class OnlyInTraining:
    """Active in training only: a reader that training starts from may have another value."""


class AffectsCompilation:
    """Compiled programs depend on it; runs that agree in all such fields share them."""


class Section(BaseModel):
    """A table of a file."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,  # "yes" is not a boolean, and true not a number
        allow_inf_nan=False,
    )
    traits: ClassVar[tuple[type, ...]] = ()
    """Traits of all fields of the section."""

    @model_validator(mode="before")
    @classmethod
    def _text_as_list(cls, values: Any) -> Any:
        """A list of texts may be given as one text; an empty text is an empty list."""
        if not isinstance(values, dict):
            return values
        lists = {
            name for name, info in cls.model_fields.items() if get_origin(info.annotation) is tuple
        }
        return {
            name: ((value,) if value else ()) if isinstance(value, str) and name in lists else value
            for name, value in values.items()
        }

    @field_validator("*", mode="before")
    @classmethod
    def _list_is_tuple(cls, value: Any) -> Any:
        """TOML and JSON have lists where a section, being immutable, has tuples."""
        return tuple(value) if isinstance(value, list) else value


def field_docs(section: type[Section]) -> dict[str, str]:
    """The sentence below each field. To read them from the source would slow every start."""
    found = {}
    for part in reversed(section.__mro__[: section.__mro__.index(Section)]):
        (definition,) = ast.parse(dedent(inspect.getsource(part))).body
        assert isinstance(definition, ast.ClassDef)
        for field, text in pairwise(definition.body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                assert isinstance(field.target, ast.Name)
                found[field.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return found
