"""The callables at an offset, with their signatures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from promptls.dialects.prompt_poet.vocabulary import RESERVED_INPUTS
from promptls.semantic.header import OPENING
from promptls.semantic.names.mentions import TemplateReference
from promptls.semantic.names.scopes import Binding
from promptls.semantic.names.visible import visible_at
from promptls.semantic.template import Template
from promptls.syntax.jinja.builtins import (
    FUNCTIONS,
    Signature,
    Taken,
    markdown,
)
from promptls.syntax.jinja.nodes import Attribute, Constant, Expression, Name, Statement
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.escape import markdown_code, markdown_prose, markdown_text
from promptls.text.positions import NOWHERE
from promptls.workspace.contract import functions_path
from promptls.workspace.python_functions import PythonFunction, functions_in
from promptls.workspace.snapshot import Snapshot

ESCAPE = "escape_special_characters"


@dataclass(frozen=True, slots=True)
class Described:
    """A signature, its documentation in Markdown, and a short description of its origin."""

    signature: Signature
    documentation: str
    origin: str
    code: str = ""
    """The signature in Python syntax, with annotations; empty for macros and Jinja's functions."""


def called_at(snapshot: Snapshot, path: str, offset: int, function: Expression | None) -> Described | None:
    """Return the callable that the expression called at `offset` refers to; None if it is unknown."""
    template = snapshot.template(path)
    if template is None:
        return None
    if isinstance(function, Name):
        return named_at(snapshot, path, offset, function.name)
    if isinstance(function, Attribute) and isinstance(function.target, Name):
        module = module_at(snapshot, path, offset, function.target.name)
        return exported_macro(snapshot, module, function.name) if module else None
    return None


def named_at(snapshot: Snapshot, path: str, offset: int, name: str) -> Described | None:
    """Return the callable that a name refers to at `offset`: a macro, an imported macro, or a function."""
    template = snapshot.template(path)
    if template is None:
        return None
    binding = visible_at(template, offset).bindings.get(name)
    if binding is None:
        late = next((each for each in template.names.bindings_of("macro") if each.name == name), None)
        return function_named(snapshot, path, name) or (late and macro_of(template, late, Path(path).name))
    if binding.kind == "macro":
        return macro_of(template, binding, Path(path).name)
    if binding.kind == "import":
        return _imported(snapshot, path, template, binding)
    if name == "caller":
        return Described(Signature("caller"), "The text that the `call` block passes to the macro.", "Jinja")
    return None


def function_named(snapshot: Snapshot, path: str, name: str) -> Described | None:
    """Return a function defined outside of templates: in the functions file, Prompt Poet, or Jinja."""
    for function in functions_of(snapshot, path):
        if function.name == name:
            return described_function(function, Path(functions_path(snapshot, path) or "").name)
    if name == ESCAPE:
        return Described(
            Signature(ESCAPE, (Taken("text", "text", is_required=True),)),
            RESERVED_INPUTS[ESCAPE],
            "Prompt Poet",
        )
    if name in FUNCTIONS:
        return Described(*FUNCTIONS[name], "Jinja")
    return None


def functions_of(snapshot: Snapshot, path: str) -> tuple[PythonFunction, ...]:
    """Return the functions of the file named in the template's header or its project's settings."""
    file = functions_path(snapshot, path)
    return (functions_in(file) or ()) if file else ()


def described_function(function: PythonFunction, file: str) -> Described:
    """Return the description of a Python function."""
    return Described(
        Signature(function.name, function.parameters),
        markdown_prose(markdown(function.documentation)),
        markdown_text(file),
        function.signature,
    )


# -- macros --------------------------------------------------------------------------------


def macro_of(template: Template, binding: Binding, file: str) -> Described | None:
    """Return the macro that is defined at a binding, documented by the comment directly above it."""
    found = tag_of(template, binding)
    if found is None:
        return None
    tag, statement, documentation = found
    parameters = tuple(
        Taken(
            each.name,
            each.name if each.default is None else f"{each.name}={_text(tag, each.default)}",
            is_required=each.default is None,
        )
        for each in statement.parameters
    )
    return Described(
        Signature(statement.name, parameters),
        markdown_prose(documentation),
        f"macro of {markdown_code(file)}",
    )


def _text(tag: Tag, node: Expression) -> str:
    return " ".join(tag.text[node.span.start : node.span.end].split())


def tag_of(template: Template, binding: Binding) -> tuple[Tag, Statement, str] | None:
    """Return the tag that creates a binding, its statement, and the comment directly above it."""
    if binding.span == NOWHERE and binding.kind == "implied":
        return None
    located = template.source.located(binding.span.start)
    above = ""
    after = 0
    for tag in located.chunk.tags:
        between = located.chunk.text[after : tag.span.start]
        after = tag.span.end
        if tag.kind == "comment":
            is_header = tag.text.startswith(OPENING)
            above = "" if tag.unclosed or is_header else tag.text[tag.inner_start : tag.inner_end].strip()
            continue
        if between.strip():
            above = ""
        if tag.kind == "statement" and tag.span.touches(binding.span.start - located.start):
            documentation = "" if above.startswith("promptls:") else above
            return tag, tag_tree(tag).statement, documentation
        above = ""
    return None


def exports_of(template: Template) -> dict[str, Binding]:
    """Return the macros and variables that the template exports."""
    visible = visible_at(template, len(template.source))
    outermost = max(visible.scopes.values(), default=0)
    return {
        name: binding
        for name, binding in visible.bindings.items()
        if visible.scopes[name] == outermost and binding.kind != "implied" and not name.startswith("_")
    }


def exported_macro(snapshot: Snapshot, path: str, name: str) -> Described | None:
    """Return an exported macro of the file at `path`."""
    template = snapshot.template(path)
    binding = exports_of(template).get(name) if template else None
    if template is None or binding is None or binding.kind != "macro":
        return None
    return macro_of(template, binding, Path(path).name)


def module_at(snapshot: Snapshot, path: str, offset: int, name: str) -> str | None:
    """Return the file that a name refers to at `offset`, if `import … as` defines it."""
    template = snapshot.template(path)
    if template is None:
        return None
    binding = visible_at(template, offset).bindings.get(name)
    found = tag_of(template, binding) if binding and binding.kind == "import" else None
    if found is None or found[1].keyword != "import":
        return None
    return imported_template(snapshot, path, found[1])


def _imported(snapshot: Snapshot, path: str, template: Template, binding: Binding) -> Described | None:
    found = tag_of(template, binding)
    if found is None or found[1].keyword != "from":
        return None
    target = imported_template(snapshot, path, found[1])
    original = next((each.name for each in found[1].imported if each.alias == binding.name), "")
    return exported_macro(snapshot, target, original) if target else None


def imported_template(snapshot: Snapshot, path: str, statement: Statement) -> str | None:
    """Return the file that a tag names in quotes, or None."""
    node = statement.template
    if not isinstance(node, Constant) or not isinstance(node.value, str):
        return None
    return snapshot.resolve(path, TemplateReference(statement.keyword, node.value, node.span))
