"""The documentation of a completion item, resolved when the editor shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from promptls.dialects.prompt_poet.vocabulary import RESERVED_INPUTS, SPACE_MARKER
from promptls.ide.callables import exported_macro, module_at, named_at
from promptls.ide.completion.in_json import json_documentation
from promptls.ide.completion.items import SETTING, Request
from promptls.ide.completion.members import declared_inputs, member_documentation
from promptls.ide.completion.yaml_keys import declared_documentation, key_documentation, piece_documentation
from promptls.ide.completion.yaml_values import value_documentation
from promptls.ide.hover.markdown import code, shown_value
from promptls.ide.hover.names import described_text, signed, tag_text
from promptls.lint.registry import RULES_BY_NAME
from promptls.rendering.file_rendering import FileRendering
from promptls.semantic.kind import Kind
from promptls.semantic.names.mentions import TemplateReference
from promptls.semantic.types.schemas import declared_over, shape_of_schema
from promptls.semantic.types.shape import UNKNOWN
from promptls.syntax.jinja import builtins
from promptls.text.escape import markdown_prose
from promptls.text.format import plural
from promptls.text.positions import NOWHERE
from promptls.workspace.contract import needed_shapes
from promptls.workspace.snapshot import Snapshot

_SPACE: Final = "Becomes one space once the white space around a part is stripped."
_WORDS: Final = {
    "if": "`a if b else c`: `a` where `b` holds, else `c`; after a loop's list, the elements to take.",
    "is": "Asks a test of a value: `name is defined`.",
    "in": "Whether a value is in a list, a key in a mapping, or a piece in a text.",
    "ignore missing": "Includes nothing where there is no such template.",
    "with context": "The template sees the variables of this place.",
    "without context": "The template sees no variables of this place.",
    "recursive": "The loop may call itself: `loop(item.children)`.",
}


def documentation(
    snapshot: Snapshot,
    path: str,
    label: str,
    source: str,
    where: tuple[str, ...],
    offset: int,
    latest: FileRendering | None = None,
) -> str:
    """Return the Markdown documentation of the item `label`; empty if nothing but its name is known.

    `source` and `where` are those of the item's completion list, and `offset` is its position.
    """
    if source == SETTING:
        from promptls.ide.settings_file import setting_names, setting_text

        return setting_text((*where[1:], *setting_names(path, label)))
    template = snapshot.template(path)
    if template is None:
        return ""
    kind = snapshot.kind(path)
    request = Request(
        snapshot,
        path,
        template,
        Kind.PARTS if kind is Kind.OTHER else kind,
        min(max(offset, 0), len(template.source)),
        latest,
    )
    by_label = _BY_LABEL.get(source)
    if by_label is not None:
        return by_label(label)
    in_request = _IN_REQUEST.get(source)
    return in_request(request, label, where) if in_request is not None else ""


def _expression(request: Request, label: str) -> str:
    described = named_at(request.snapshot, request.path, request.offset, label)
    if described is not None:
        return described_text(described)
    if label in RESERVED_INPUTS:
        return RESERVED_INPUTS[label]
    return "" if label in request.visible.bindings else "\n\n".join(_input(request, label))


def _input(request: Request, name: str) -> Iterator[str]:
    key = declared_inputs(request).get(name)
    if key is not None and (description := key.schema.get("description")):
        yield markdown_prose(str(description))
    shape = needed_shapes(request.snapshot, request.path).get(name, UNKNOWN)
    if key is not None:
        shape = declared_over(shape_of_schema(key.schema), shape)
    if shape.kind not in {"unknown", "any"}:
        yield markdown_prose(shape.description)
    if key is not None and isinstance(key.schema.get("enum"), list):
        yield f"one of {', '.join(code(shown_value(value)) for value in key.schema['enum'])}"
    if name in request.data:
        origin = f"in {code(request.latest.sample.name)}" if request.latest else "in the first example"
        yield f"{origin}: {code(shown_value(request.data[name]))}"


def _attribute(request: Request, label: str) -> str:
    """Return the documentation of an attribute of `loop` or of an imported template."""
    line = request.template.source.line_span(request.template.source.line_column(request.offset).line)
    before = request.template.source.slice(line)[: request.offset - line.start].rstrip()
    owner = before.rsplit(".", 1)[0].split()[-1:] if "." in before else []
    name = owner[0].lstrip("{(%") if owner else ""
    if name == "loop":
        return builtins.LOOP.get(label, "")
    module = module_at(request.snapshot, request.path, request.offset, name)
    described = exported_macro(request.snapshot, module, label) if module else None
    return described_text(described) if described else member_documentation(request, label)


def _imported(request: Request, template: tuple[str, ...], label: str) -> str:
    name = template[0] if template else ""
    target = request.snapshot.resolve(request.path, TemplateReference("from", name, NOWHERE))
    described = exported_macro(request.snapshot, target, label) if target else None
    return described_text(described) if described else ""


def _file(request: Request, label: str) -> str:
    target = request.snapshot.resolve(request.path, TemplateReference("include", label, NOWHERE))
    template = request.snapshot.template(target) if target else None
    if target is None or template is None:
        return ""
    texts = []
    if template.declarations.settings.description:
        texts.append(markdown_prose(template.declarations.settings.description))
    names = [code(placed.part.name or "?") for placed in template.parts]
    if names:
        texts.append(f"{plural(len(names), 'part')}: {', '.join(names)}")
    macros = sorted(template.names.bound_names("macro"))
    if macros:
        texts.append(f"macros: {', '.join(map(code, macros))}")
    return "\n\n".join(texts) or code(Path(target).name)


def _rule(label: str) -> str:
    """Return the documentation of a rule: its page up to the first heading."""
    rule = RULES_BY_NAME.get(label)
    return rule.page.partition("\n## ")[0].strip() if rule is not None else ""


_BY_LABEL: Final[dict[str, Callable[[str], str]]] = {
    "tag": tag_text,
    "filter": lambda label: signed(
        "", builtins.filter_signature(label), builtins.filter_documentation(label)
    ),
    "test": lambda label: signed("", builtins.test_signature(label), builtins.test_documentation(label)),
    "operator": lambda label: _WORDS.get(label, ""),
    "words": lambda label: _WORDS.get(label, ""),
    "rule": _rule,
    "text": lambda label: _SPACE if label == SPACE_MARKER else "",
}
_IN_REQUEST: Final[dict[str, Callable[[Request, str, tuple[str, ...]], str]]] = {
    "expression": lambda request, label, _where: _expression(request, label),
    "attribute": lambda request, label, _where: _attribute(request, label),
    "element": lambda request, label, _where: member_documentation(request, label),
    "path": lambda request, label, _where: _file(request, label),
    "template": lambda request, label, _where: _file(request, label) or _expression(request, label),
    "imported": lambda request, label, where: _imported(request, where[1:2], label),
    "key": lambda request, label, where: (
        member_documentation(request, label)
        or key_documentation(request, where[1:], label, in_header=where[:1] == ("header",))
        or declared_documentation(request, where[1:], label)
        or piece_documentation(label)
    ),
    "json": json_documentation,
    "piece": lambda _request, label, _where: piece_documentation(label),
    "value": lambda request, label, where: value_documentation(request, where[1:], label),
    "listed": lambda request, label, where: value_documentation(request, where[1:], label),
}
