"""A JSON Schema of inputs as Python source: a pydantic model, or a `TypedDict`."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_WORDS: Final = re.compile(r"[A-Za-z0-9]+")
_SCALARS: Final = {"string": "str", "integer": "int", "boolean": "bool", "null": "None"}
_MODEL_NAMES: Final = frozenset(
    {"construct", "copy", "dict", "fields", "from_orm", "json", "parse_file", "parse_obj", "parse_raw",
     "schema", "schema_json", "update_forward_refs", "validate"}
)  # fmt: skip
"""Names that pydantic's models have themselves."""
_NEW_TYPING: Final = """
if sys.version_info >= (3, 12):
    from typing import {0}
else:
    from typing_extensions import {0}"""
"""Pydantic reads no older `TypedDict` of Python's own."""


@dataclass(frozen=True, slots=True)
class Field:
    """A key of a class: its type as Python source, and what is known of it besides."""

    name: str
    type: str
    is_required: bool
    description: str
    default: str | None


@dataclass(frozen=True, slots=True)
class Class:
    """A class to be written."""

    name: str
    documentation: str
    fields: tuple[Field, ...]


@dataclass(slots=True)
class _Classes:
    """The classes made so far, inner ones first; no name twice."""

    made: list[Class] = field(default_factory=list)

    def add(self, name: str, schema: Mapping[str, Any], functions: Iterable[str] = ()) -> str:
        """Make the class of an object's schema; its name."""
        properties = schema.get("properties") or {}
        required = set(schema.get("required") or ())
        fields = [
            self._field(key, below if isinstance(below, dict) else {}, name, is_required=key in required)
            for key, below in properties.items()
        ]
        fields += [Field(key, "Callable[..., object]", True, "", None) for key in functions]  # noqa: FBT003
        taken = {each.name for each in self.made}
        final, number = name, 2
        while final in taken:
            final, number = f"{name}{number}", number + 1
        self.made.append(Class(final, str(schema.get("description") or ""), tuple(fields)))
        return final

    def _field(self, key: str, schema: Mapping[str, Any], around: str, *, is_required: bool) -> Field:
        kind = self.type_of(schema, f"{around.removesuffix('Inputs')}{class_name(key)}")
        default = repr(schema["default"]) if "default" in schema else None
        return Field(key, kind, is_required, str(schema.get("description") or ""), default)

    def type_of(self, schema: Any, name: str) -> str:
        """The Python type of a schema's values, as source."""
        if not isinstance(schema, dict):
            return "Any"
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            values = schema["enum"]
            if all(value is None or isinstance(value, (str, int, bool)) for value in values):
                return f"Literal[{', '.join(map(repr, values))}]"
            return "Any"
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                return _joined([self.type_of(choice, name) for choice in schema[word]])
        kinds = schema.get("type")
        named = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
        return _joined([each for kind in named for each in self._of_type(str(kind), schema, name)])

    def _of_type(self, kind: str, schema: Mapping[str, Any], name: str) -> list[str]:
        if kind == "array":
            items = schema.get("items")
            return [f"list[{self.type_of(items, f'{name}Item')}]"]
        if kind == "object" and isinstance(schema.get("properties"), dict) and schema["properties"]:
            return [self.add(name, schema)]
        if kind == "object":
            return [f"dict[str, {self.type_of(schema.get('additionalProperties'), f'{name}Value')}]"]
        return ["int", "float"] if kind == "number" else [_SCALARS.get(kind, "Any")]


def _joined(types: list[str]) -> str:
    """The type of values of one of some types; `Any` where there is none, or one of them is anything."""
    single = [each for joined in types for each in _split(joined)]
    return "Any" if "Any" in single else " | ".join(dict.fromkeys(single)) or "Any"


def _split(joined: str) -> list[str]:
    """The types of a union, where it stands in no brackets."""
    if joined.count("[") == joined.count("]") == 0:
        return joined.split(" | ")
    return [joined]


def class_name(text: str) -> str:
    """A class's name made from words: `support_triage` gives `SupportTriage`."""
    made = "".join(word[:1].upper() + word[1:] for word in _WORDS.findall(text))
    return made if made and not made[0].isdigit() else f"Prompt{made}"


def pydantic_source(schema: Mapping[str, Any], functions: Iterable[str] = ()) -> str:
    """The source of a module with a pydantic model for each mapping in the schema, the outermost last."""
    classes = _made(schema, functions)
    body = "\n\n\n".join(map(_model, classes))
    fields = ", Field" if "Field(" in body else ""
    config = ", ConfigDict" if "ConfigDict(" in body else ""
    return f"{_head(schema, body)}\nfrom pydantic import BaseModel{config}{fields}\n\n\n{body}\n"


def typed_dict_source(schema: Mapping[str, Any], functions: Iterable[str] = ()) -> str:
    """The source of a module with a `TypedDict` for each mapping in the schema, the outermost last."""
    body = "\n\n\n".join(map(_typed_dict, _made(schema, functions)))
    names = ", ".join(name for name in ("NotRequired", "TypedDict") if re.search(rf"\b{name}\b", body))
    return f"{_head(schema, body, importing=_NEW_TYPING.format(names))}\n\n{body}\n"


def _made(schema: Mapping[str, Any], functions: Iterable[str]) -> list[Class]:
    classes = _Classes()
    stem = str(schema.get("title") or "prompt").split(".")[0]
    classes.add(f"{class_name(stem)}Inputs", schema, functions)
    return classes.made


def _head(schema: Mapping[str, Any], body: str, *, importing: str = "") -> str:
    lines = ["import sys"] if importing else []
    if "Callable[" in body:
        lines.append("from collections.abc import Callable")
    wanted = [name for name in ("Any", "Literal") if re.search(rf"\b{name}\b", body)]
    if wanted:
        lines.append(f"from typing import {', '.join(wanted)}")
    lines += [importing] if importing else []
    title = _plain(str(schema.get("title") or "a prompt"))
    return "\n".join([f'"""The inputs of `{title}`."""', "", *lines, *([""] if lines else [])])


def _plain(text: str) -> str:
    """A text that can stand between triple quotes, on one line."""
    return " ".join(text.split()).replace("\\", "\\\\").replace('"', "'")


def _documentation(described: str) -> list[str]:
    return [f'    """{_plain(described)}"""', ""] if described else []


def _model(made: Class) -> str:
    lines = [f"class {made.name}(BaseModel):", *_documentation(made.documentation)]
    names: dict[str, Field] = {}
    for each in made.fields:
        name = _attribute(each.name)
        while name in names:
            name += "_"
        names[name] = each
    members = [_member(name, each) for name, each in names.items()]
    if any("alias=" in member for member in members):
        lines += ["    model_config = ConfigDict(populate_by_name=True)", ""]
    return "\n".join([*lines, *(members or ["    pass"])])


def _member(name: str, each: Field) -> str:
    settings = [f"alias={json.dumps(each.name)}"] if name != each.name else []
    if each.description:
        settings.append(f"description={json.dumps(each.description, ensure_ascii=False)}")
    kind, value = each.type, each.default
    if value is None and not each.is_required:
        kind, value = _or_none(kind), "None"
    if value is not None and settings:
        settings.insert(0, f"default={value}")
    if settings:
        return f"    {name}: {kind} = Field({', '.join(settings)})"
    return f"    {name}: {kind}" + (f" = {value}" if value is not None else "")


def _or_none(kind: str) -> str:
    return kind if kind == "Any" or kind.endswith("None") else f"{kind} | None"


def _attribute(key: str) -> str:
    """An attribute's name for a key, as pydantic allows it."""
    name = re.sub(r"\W", "_", key).lstrip("_") or "value"
    if name[0].isdigit():
        name = f"value_{name}"
    if keyword.iskeyword(name) or name in _MODEL_NAMES or name.startswith("model_"):
        name = f"{name}_"
    return f"input_{name}" if name.startswith("model_") else name


def _typed_dict(made: Class) -> str:
    fields = [
        (each.name, each.type if each.is_required else f"NotRequired[{each.type}]", each.description)
        for each in made.fields
    ]
    if any(not name.isidentifier() or keyword.iskeyword(name) for name, _, _ in fields):
        items = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {kind}" for name, kind, _ in fields)
        return f'{made.name} = TypedDict("{made.name}", {{{items}}})'
    lines = [f"class {made.name}(TypedDict):", *_documentation(made.documentation)]
    for name, kind, description in fields:
        lines.append(f"    {name}: {kind}")
        if description:
            lines.append(f'    """{_plain(description)}"""')
    return "\n".join(lines if fields else [*lines, "    pass"])
