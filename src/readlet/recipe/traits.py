"""What the rest of the program must know about a field of a recipe, written beside the field.

A trait stands in the field's annotation, `dev: Annotated[str, SourceFile] = ""`, or among the
`traits` of its section, where it holds for all fields, those to come included. Run keys, resuming,
starting from a reader and the lookup of files ask for traits and never for names of fields.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic.fields import FieldInfo

if TYPE_CHECKING:
    from readlet.recipe.recipe import Recipe


class SourceFile:
    """Names a file, or a tuple of files: they count by their content, not by their place."""


class SourceReader:
    """Names a reader's folder, or a tuple of them: they count by the content of their files."""


class PartOfNetwork:
    """Defines the network: a reader that training starts from must have the same value."""


class OnlyInTraining:
    """Part of the network that is at work in training only: a start may have another value."""


class ShapesPrograms:
    """Compiled programs depend on it; runs that differ in no such field share them."""


@dataclass(frozen=True)
class Later:
    """Recipes got the field after runs had been stored without it; `neutral` changes nothing.

    A stored recipe without the field gets that value, and a run key leaves it out at that value.
    """

    neutral: Any


class RecipeField(NamedTuple):
    section: str
    name: str
    info: FieldInfo
    value: Any

    @property
    def path(self) -> str:
        """The field as `--set` names it."""
        return f"{self.section}.{self.name}"


def fields_of(recipe: "Recipe | type[Recipe]") -> Iterator[RecipeField]:
    """All fields of all sections in order; those of a class with their defaults."""
    recipe = _with_defaults(recipe)
    for section in recipe.sections:
        part = getattr(recipe, section)
        for name, info in type(part).model_fields.items():
            yield RecipeField(section, name, info, getattr(part, name))


def fields_with(recipe: "Recipe | type[Recipe]", *traits: type) -> list[RecipeField]:
    """The fields that have one of the traits, or whose section has it."""
    recipe = _with_defaults(recipe)
    return [
        field
        for field in fields_of(recipe)
        if any(
            _is_trait(mark, trait)
            for mark in (*field.info.metadata, *getattr(recipe, field.section).traits)
            for trait in traits
        )
    ]


def later_fields(recipe: "Recipe | type[Recipe]") -> Iterator[tuple[RecipeField, Any]]:
    """The fields that recipes got later, each with its neutral value."""
    for field in fields_of(recipe):
        for mark in field.info.metadata:
            if isinstance(mark, Later):
                yield field, mark.neutral


def names_in(value: str | tuple[str, ...]) -> list[str]:
    """The names that a field with files or readers holds; an empty one stands for none."""
    return [name for name in ([value] if isinstance(value, str) else value) if name]


def changed_fields(before: Mapping[str, Any], now: "Recipe") -> list[str]:
    """Fields of a recipe that differ from dumped values, as `--set` names them.

    Of another kind of model only the kind is named: none of its fields can be compared.
    """
    values = now.model_dump(mode="json")
    parts = {section: part for section, part in before.items() if isinstance(part, Mapping)}
    changed = [
        field.path
        for field in fields_of(now)
        if parts.get(field.section, {}).get(field.name) != values[field.section][field.name]
    ]
    return ["model.kind"] if "model.kind" in changed else changed


def _with_defaults(recipe: "Recipe | type[Recipe]") -> "Recipe":
    return recipe.model_validate({}) if isinstance(recipe, type) else recipe


def _is_trait(mark: object, trait: type) -> bool:
    return mark is trait or isinstance(mark, trait)
