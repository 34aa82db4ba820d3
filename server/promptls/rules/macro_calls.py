"""What a call leads to: a macro of the file, an imported one, or a function of the functions file."""

from __future__ import annotations

from typing import Final, NamedTuple

from promptls.meaning.references import TemplateReference
from promptls.meaning.scopes import Binding, Reading, chunk_events
from promptls.meaning.template import Template
from promptls.rules.rule import FileContext, Severity
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.nodes import Attribute, Call, Constant, Statement
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.signature import Signature, Taken
from promptls.text.span import Span
from promptls.workspace.contract import functions_path
from promptls.workspace.python_names import functions_in

_SPECIAL: Final = {"varargs": "rest", "kwargs": "named"}


class Callee(NamedTuple):
    """What is called: its parameters, whether a `call` block calls it, and how grave a missing argument is."""

    signature: Signature
    is_in_block: bool = False
    lacking: Severity | None = None

    @property
    def takes_caller(self) -> bool:
        """Whether it can be called by a `call` block."""
        return any(each.name == "caller" or each.kind == "named" for each in self.signature.parameters)


def has_known_callee(context: FileContext, called: frozenset[str]) -> frozenset[str]:
    """Those of the names that a macro, an import or the functions file may provide."""
    names = context.template.names
    found = names.bound_names("macro") | names.bound_names("import")
    file = functions_path(context.snapshot, context.path)
    if file is not None and called - found:
        found |= {function.name for function in functions_in(file) or ()}
    return found & called


def callee_of(
    context: FileContext, reading: Reading, call: Call, chunk: Chunk, tag_start: int
) -> Callee | None:
    """What a call leads to; None where that, or what it takes, cannot be told."""
    binding = reading.binding
    if binding is None:
        return None if isinstance(call.function, Attribute) else _function(context, reading.name)
    if not reading.certain:
        return None
    if binding.kind == "macro" and not isinstance(call.function, Attribute):
        signature = _macro_at(context.template, binding)
    elif binding.kind == "import":
        signature = _imported(context, binding, call)
    else:
        return None
    if signature is None:
        return None
    return Callee(signature, _is_call_block(chunk, tag_start, call), "hint")


def _is_call_block(chunk: Chunk, tag_start: int, call: Call) -> bool:
    """Whether the call is that of a `{% call %}` block, which passes a `caller`."""
    for tag in chunk.tags:
        if tag.span.start == tag_start and tag.kind == "statement":
            statement = tag_tree(tag).statement
            return statement.keyword == "call" and any(each is call for each in statement.expressions)
    return False


def _function(context: FileContext, name: str) -> Callee | None:
    file = functions_path(context.snapshot, context.path)
    found = [each for each in (functions_in(file) if file else None) or () if each.name == name]
    if len(found) != 1 or not found[0].signature or found[0].decorators:
        return None
    return Callee(Signature(name, found[0].parameters))


def _imported(context: FileContext, binding: Binding, call: Call) -> Signature | None:
    """The macro of another file that an imported name, or an attribute of one, stands for."""
    statement = _statement_at(context.template, binding.span)
    if statement is None or not isinstance(statement.template, Constant):
        return None
    name = statement.template.value
    if not isinstance(name, str):
        return None
    if statement.keyword == "import":
        wanted = call.function.name if isinstance(call.function, Attribute) else None
    else:
        is_direct = not isinstance(call.function, Attribute)
        wanted = next((each.name for each in statement.imported if each.alias == binding.name), None)
        wanted = wanted if is_direct else None
    reference = TemplateReference(statement.keyword, name, statement.template.span)
    target = context.snapshot.resolve(context.path, reference)
    template = context.snapshot.template(target) if target and wanted else None
    if template is None or wanted in template.names.bound_names("set"):
        return None
    macros = [each for each in template.names.bindings_of("macro") if each.name == wanted]
    return _macro_at(template, macros[0]) if len(macros) == 1 else None


def _statement_at(template: Template, span: Span) -> Statement | None:
    located = template.source.located(span.start)
    for tag in located.chunk.tags:
        if tag.kind == "statement" and tag.span.contains(span.start - located.start):
            return tag_tree(tag).statement
    return None


def _macro_at(template: Template, binding: Binding) -> Signature | None:
    """What the macro takes whose name stands at the binding."""
    located = template.source.located(binding.span.start)
    return _macros(located.chunk).get(binding.span.start - located.start)


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
        parameters = [
            Taken(each.name, each.name, is_required=each.default is None) for each in statement.parameters
        ]
        parameters += [
            Taken(name, name, "rest" if kind == "rest" else "named")
            for name, kind in _SPECIAL.items()
            if name in read
        ]
        if "caller" in read and not any(each.name == "caller" for each in parameters):
            parameters.append(Taken("caller", "caller", "keyword"))
        place = statement.name_span.shifted(opening.span.start)
        found[place.start] = Signature(statement.name, tuple(parameters))
    return found
