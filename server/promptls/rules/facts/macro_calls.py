"""What the calls of a file lead to: macros, imported macros, functions of the functions file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from promptls.meaning.name_events import chunk_events
from promptls.meaning.names import FileNames, chunk_bindings
from promptls.meaning.references import TemplateReference
from promptls.meaning.scopes import Binding
from promptls.meaning.statement_places import statement_at
from promptls.meaning.template import Template
from promptls.rules.rule import FileContext, Severity
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import union, united
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.nodes import Attribute, Call, Constant, Name
from promptls.syntax.jinja.problems import expressions_in, tag_tree
from promptls.syntax.jinja.signature import Signature, Taken
from promptls.workspace.contract import functions_path
from promptls.workspace.python_names import functions_in

_KINDS: Final = ("set", "for", "with", "parameter", "macro", "import")


@dataclass(frozen=True, slots=True)
class Callee:
    """What a name leads to: what it takes, where that is known, or the macros of an imported file.

    `lacking` is how grave an argument is that is not given; an error where it is None.
    """

    signature: Signature | None = None
    is_macro: bool = False
    lacking: Severity | None = None
    members: Mapping[str, Callee] = field(default_factory=dict)

    @property
    def takes_caller(self) -> bool:
        """Whether a `call` block can call it."""
        taken = self.signature.parameters if self.signature else ()
        return any(each.name == "caller" or each.kind == "named" for each in taken)


Callees: TypeAlias = Mapping[str, Callee]
"""What is known of the names that a file calls."""


@kept
def chunk_calls(chunk: Chunk) -> tuple[tuple[int, str, Call], ...]:
    """The calls of names, and of attributes of names: where the tag begins, the name, the call."""
    found = []
    for start, node in expressions_in(chunk):
        if isinstance(node, Call):
            owner = node.function.target if isinstance(node.function, Attribute) else node.function
            if isinstance(owner, Name):
                found.append((start, owner.name, node))
    return tuple(found)


def called(context: FileContext) -> object:
    """The names that the file calls, as an aspect of it."""
    return called_names(context.template.source.root)


def macros(context: FileContext) -> object:
    """The macros of the file, as an aspect of it."""
    return _own_macros(context.template.source.root)


called_names: Final = united(
    lambda chunk: frozenset(name for _, name, _ in chunk_calls(chunk)), union, of_tags=True
)
"""The names that a piece calls, or calls something of."""


def bound_names(names: FileNames) -> frozenset[str]:
    """Every name that the file binds, in whichever way."""
    return union([names.bound_names(kind) for kind in _KINDS])


def callees_of(context: FileContext, called: frozenset[str]) -> Callees:
    """What those of the called names lead to that mean one thing all over the file, by name."""
    names = context.template.names
    imported, macros = names.bound_names("import"), _own_macros(context.template.source.root)
    otherwise = union([names.bound_names(kind) for kind in _KINDS if kind not in {"macro", "import"}])
    found: dict[str, Callee] = {
        name: callee
        for name in (called & macros.keys()) - imported - otherwise
        if (callee := macros[name]) is not None
    }
    bindings: dict[str, list[Binding]] = {}
    if not called.isdisjoint(imported):
        for binding in names.bindings_of("import"):
            bindings.setdefault(binding.name, []).append(binding)
    for name in (called & bindings.keys()) - macros.keys() - otherwise:
        if len(bindings[name]) == 1:
            callee = _imported(context, bindings[name][0])
            if callee is not None:
                found[name] = callee
    rest = called - bindings.keys() - macros.keys() - otherwise
    file = functions_path(context.snapshot, context.path) if rest else None
    functions = functions_in(file) if file else None
    for function in functions or ():
        if function.name in rest:
            is_known = bool(function.signature) and not function.decorators and function.name not in found
            signature = Signature(function.name, function.parameters) if is_known else None
            found[function.name] = Callee(signature)
    return found


def _imported(context: FileContext, binding: Binding) -> Callee | None:
    """What an imported name leads to."""
    statement = statement_at(context.template, binding.span.start)
    node = statement.template if statement else None
    if statement is None or not isinstance(node, Constant) or not isinstance(node.value, str):
        return None
    reference = TemplateReference(statement.keyword, node.value, node.span)
    target = context.snapshot.resolve(context.path, reference)
    template = context.snapshot.template(target) if target else None
    if template is None:
        return None
    if statement.keyword == "import":
        names = template.names.bound_names("macro")
        members = {name: callee for name in names if (callee := _exported(template, name))}
        return Callee(members=members)
    wanted = next((each.name for each in statement.imported if each.alias == binding.name), None)
    return _exported(template, wanted) if wanted else None


def _exported(template: Template, name: str) -> Callee | None:
    """A macro of another file, where it is the only thing of its name there."""
    return None if name in template.names.bound_names("set") else _own_macros(template.source.root).get(name)


def is_call_block(chunk: Chunk, tag_start: int, call: Call) -> bool:
    """Whether the call is that of a `{% call %}` block, which passes a `caller`."""
    for tag in chunk.tags:
        if tag.span.start == tag_start and tag.kind == "statement":
            statement = tag_tree(tag).statement
            return statement.keyword == "call" and any(each is call for each in statement.expressions)
    return False


@kept
def _macros(chunk: Chunk) -> dict[int, Signature]:
    """The macros that begin and end in the chunk, by the place of their names."""
    found: dict[int, Signature] = {}
    for pair in chunk_blocks(chunk).pairs:
        if pair.keyword != "macro":
            continue
        opening, closing = chunk.tags[pair.opening], chunk.tags[pair.closing]
        statement = tag_tree(opening).statement
        read = {
            event.name
            for event in chunk_events(chunk)
            if event.action == "read" and opening.span.start <= event.span.start < closing.span.start
        }
        taken = [
            Taken(each.name, each.name, is_required=each.default is None) for each in statement.parameters
        ]
        if "varargs" in read:
            taken.append(Taken("varargs", "*varargs", "rest"))
        if "kwargs" in read:
            taken.append(Taken("kwargs", "**kwargs", "named"))
        if "caller" in read and all(each.name != "caller" for each in taken):
            taken.append(Taken("caller", "caller", "keyword"))
        place = statement.name_span.shifted(opening.span.start)
        found[place.start] = Signature(statement.name, tuple(taken))
    return found


def _chunk_macros(chunk: Chunk) -> dict[str, Callee | None]:
    """The macros that the chunk binds; None for one that does not end in it, or has a namesake."""
    found: dict[str, Callee | None] = {}
    signatures = _macros(chunk)
    for binding in chunk_bindings(chunk):
        if binding.kind == "macro":
            signature = None if binding.name in found else signatures.get(binding.span.start)
            found[binding.name] = Callee(signature, is_macro=True, lacking="hint") if signature else None
    return found


def _joined_macros(macros: list[dict[str, Callee | None]]) -> dict[str, Callee | None]:
    joined: dict[str, Callee | None] = {}
    for each in macros:
        for name, callee in each.items():
            joined[name] = None if name in joined else callee
    return joined


_own_macros: Final = united(_chunk_macros, _joined_macros, of_tags=True)
"""The macros of a piece by name; None for those that cannot be told apart, or reach over several chunks."""
