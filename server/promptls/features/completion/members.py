"""What stands behind a dot or between brackets: attributes and keys of a value, as far as anything tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.features.callables import exported_macro, exports_of, module_at, tag_of
from promptls.features.completion.item import Item, ItemKind
from promptls.features.completion.known_values import Member, members_at, members_of, schema_at, way_to
from promptls.features.completion.names import own_block_items
from promptls.features.completion.request import Request
from promptls.meaning.scopes import Binding
from promptls.syntax.jinja.builtins import LOOP
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Keyword, Name
from promptls.syntax.jinja.problems import tag_tree
from promptls.systems.prompt_poet.vocabulary import DICT_METHODS

_MAPPING_METHODS: Final = ("items", "keys", "values", "get")
_TEXT_METHODS: Final = ("lower", "upper", "strip", "split", "startswith", "endswith", "replace", "splitlines")
_LIKELIEST: Final = 1
_KNOWN: Final = 10
_METHOD: Final = 40


def attribute_items(request: Request, target: Expression | None) -> Iterator[Item]:
    """What may stand behind the dot of `target`."""
    if isinstance(target, Name):
        named = list(own_block_items(request) if target.name == "self" else _of_name(request, target.name))
        if named:
            yield from named
            return
    members, shape = members_of(request, target)
    for name, member in members.items():
        if name.isidentifier() and name not in DICT_METHODS:
            yield Item(name, "property", _KNOWN, detail=_detail(member))
    if shape is None:
        return
    if shape.kind == "mapping":
        for method in _MAPPING_METHODS:
            takes = method == "get"
            yield Item(
                method,
                "method",
                _METHOD,
                text="" if takes else f"{method}()",
                snippet=f"{method}($1)$0" if takes else "",
                detail="of a mapping",
            )
    elif shape.kind == "text":
        for method in _TEXT_METHODS:
            yield Item(method, "method", _METHOD, snippet=f"{method}($1)$0", detail="of a text")


def key_items(request: Request, target: Expression | None) -> Iterator[Item]:
    """The keys that may stand between the quotes of `target["…"]`."""
    members, _ = members_of(request, target)
    for name, member in members.items():
        if not re.search(r"[\"'\\\n]", name):
            yield Item(name, "property", _KNOWN, detail=_detail(member))


def element_items(request: Request, target: Expression | None) -> Iterator[Item]:
    """The keys of the elements of a list, for a filter that goes by one of them."""
    members, _ = members_at(request, way_to(request, target, of_elements=True))
    for name, member in members.items():
        if not re.search(r"[\"'\\\n.]", name):
            yield Item(name, "property", _KNOWN, detail=_detail(member))


def value_items(request: Request, target: Expression | None) -> Iterator[Item]:
    """The texts that `target` may be compared with: the `enum` of its schema."""
    schema = schema_at(request, way_to(request, target))
    for value in schema.get("enum", ()) if isinstance(schema.get("enum"), list) else ():
        if isinstance(value, str):
            yield Item(value, "enum", _KNOWN)


def compared_items(request: Request, target: Expression | None, quote: str) -> Iterator[Item]:
    """The values that `target` may be compared with, as they are written in a tag, texts in these quotes."""
    values = schema_at(request, way_to(request, target)).get("enum") if target is not None else None
    for value in values if isinstance(values, list) else ():
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            text = f"{quote}{value}{quote}" if isinstance(value, str) else str(value)
            if re.search(r"[\"'\\\n]", str(value)):
                continue
            yield Item(text, "enum", _LIKELIEST, filter_text=str(value), detail="compared")


def _detail(member: Member) -> str:
    words = member.shape.words if member.shape is not None and member.shape.kind != "unknown" else ""
    return ", ".join(each for each in (words, member.origin) if each)


# -- names that Jinja or the template give a meaning ---------------------------------------------


def _of_name(request: Request, name: str) -> Iterator[Item]:
    binding = request.visible.bindings.get(name)
    if name == "loop" and binding is not None and binding.kind == "implied":
        for attribute in LOOP:
            called = attribute in {"cycle", "changed"}
            yield Item(
                attribute,
                "method" if called else "property",
                _KNOWN if attribute in {"index", "first", "last", "length"} else _KNOWN + 2,
                snippet=f"{attribute}($1)$0" if called else "",
                detail="loop",
            )
    elif binding is not None and binding.kind == "import":
        yield from _of_module(request, name)
    elif binding is not None and binding.kind == "set":
        yield from _of_namespace(request, name, binding)


def _of_module(request: Request, name: str) -> Iterator[Item]:
    path = module_at(request.snapshot, request.path, request.offset, name)
    template = request.snapshot.template(path) if path else None
    if path is None or template is None:
        return
    for exported, binding in exports_of(template).items():
        described = exported_macro(request.snapshot, path, exported)
        kind: ItemKind = "function" if binding.kind == "macro" else "variable"
        if described is None:
            yield Item(exported, kind, _KNOWN + 5, detail=binding.kind)
            continue
        parameters = described.signature.parameters
        yield Item(
            exported,
            kind,
            _KNOWN,
            text="" if parameters else f"{exported}()",
            snippet=f"{exported}($1)$0" if parameters else "",
            detail="macro",
            parameters=f"({', '.join(each.text for each in parameters)})",
        )


def _of_namespace(request: Request, name: str, binding: Binding) -> Iterator[Item]:
    """The variables of a `namespace(…)`: those that it begins with, and those that are set."""
    made = tag_of(request.template, binding)
    value = made[1].expressions[0] if made and made[1].expressions else None
    if (
        not isinstance(value, Call)
        or not isinstance(value.function, Name)
        or value.function.name != "namespace"
    ):
        return
    found = dict.fromkeys(each.name for each in value.arguments if isinstance(each, Keyword))
    for chunk in request.template.source.chunks:
        for tag in chunk.tags if name in chunk.text else ():
            statement = tag_tree(tag).statement if tag.kind == "statement" else None
            for target in statement.targets if statement is not None and statement.keyword == "set" else ():
                if isinstance(target, Attribute) and target.target == Name(target.target.span, name):
                    found[target.name] = None
    for attribute in found:
        yield Item(attribute, "property", _KNOWN, detail=f"of {name}")
