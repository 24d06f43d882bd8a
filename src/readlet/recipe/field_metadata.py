"""Traits of recipe fields: what the rest of the program must know about a field.

A trait is part of the field's annotation, `dev: Annotated[str, SourceFile] = ""`, or of the
`traits` of its section, where it applies to all fields, future ones included. Run keys, resuming,
starting from a reader and the lookup of files depend on traits, never on names of fields.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic.fields import FieldInfo

if TYPE_CHECKING:
    from readlet.recipe.recipe import Recipe


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
    """All fields of all sections, in order; for a class, with their defaults."""
    recipe = _with_defaults(recipe)
    for section in recipe.sections:
        part = getattr(recipe, section)
        for name, info in type(part).model_fields.items():
            yield RecipeField(section, name, info, getattr(part, name))


def fields_with(recipe: "Recipe | type[Recipe]", *traits: type) -> list[RecipeField]:
    """The fields with one of the traits, set on the field or on its section."""
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


def names_in(value: str | tuple[str, ...]) -> list[str]:
    """The names in a field of files or readers; an empty name means none."""
    return [name for name in ([value] if isinstance(value, str) else value) if name]


def changed_fields(before: Mapping[str, Any], now: "Recipe") -> list[str]:
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


def _with_defaults(recipe: "Recipe | type[Recipe]") -> "Recipe":
    return recipe.model_validate({}) if isinstance(recipe, type) else recipe


def _is_trait(mark: object, trait: type) -> bool:
    return mark is trait or isinstance(mark, trait)
