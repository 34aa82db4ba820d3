"""What a file calls: the signatures of macros and functions by name, and mismatches of arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import File, Finding, Severity
from promptls.semantic.names.file_names import chunk_bindings
from promptls.semantic.names.mentions import TemplateReference
from promptls.semantic.names.scopes import BODY_NAMES, Binding, chunk_events
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.template import Template
from promptls.semantic.types.assignability import KnownFunction
from promptls.syntax.chunk import Chunk, ChunkList, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.builtins import Signature, Taken
from promptls.syntax.jinja.nodes import Attribute, Call, Constant, Expression, Keyword, Name, Parameter
from promptls.syntax.jinja.problems import expressions_in, refused_arguments, tag_tree
from promptls.text.format import in_code, plural
from promptls.text.positions import Span
from promptls.workspace.contract import calls_to, functions_path
from promptls.workspace.python_functions import functions_in


def mismatches(
    signature: Signature, arguments: tuple[Expression, ...], place: Span, *, lacking: Severity | None = None
) -> Iterator[Finding]:
    """Yield the problems of the arguments of a call whose name is at `place`.

    Unpacked arguments may have any value, so problems that they could resolve are not reported. `lacking` is
    the severity of a missing required argument if that is not an error.
    """
    if any(refused_arguments(arguments)):
        return  # an error for any function, and reported as such
    positional = [each for each in arguments if not isinstance(each, Keyword)]
    named = [each for each in arguments if isinstance(each, Keyword) and not each.name.startswith("*")]
    is_unpacking = any(isinstance(each, Keyword) and each.name.startswith("*") for each in arguments)
    placed = [each for each in signature.parameters if each.kind in {"any", "place"}]
    takes_rest = any(each.kind == "rest" for each in signature.parameters)
    if len(positional) > len(placed) and not takes_rest:
        yield Finding(positional[len(placed)].span, _too_many(signature.name, len(placed), len(positional)))
    filled = {each.name for each in placed[: len(positional)]}
    takes_named = any(each.kind == "named" for each in signature.parameters)
    by_name = [each.name for each in signature.parameters if each.kind in {"any", "keyword"}]
    for keyword in named:
        span = Span(keyword.span.start, keyword.span.start + len(keyword.name))
        if keyword.name in filled and keyword.name in by_name:
            yield Finding(span, f"`{keyword.name}` is given twice")
        elif keyword.name not in by_name and not takes_named:
            yield _unknown(signature, keyword.name, span, [name for name in by_name if name not in filled])
        filled.add(keyword.name)
    if is_unpacking:
        return
    missing = [each for each in signature.parameters if each.is_required and each.name not in filled]
    unknown = [each for each in named if each.name not in by_name]
    if missing and not (unknown and not takes_named):
        yield Finding(place, _too_few(signature.name, missing), severity=lacking)


def _too_many(name: str, limit: int, positional: int) -> str:
    taken = f"at most {plural(limit, 'argument')}" if limit else "no arguments"
    return f"`{name}` takes {taken}, and {positional} {'is' if positional == 1 else 'are'} given"


def _too_few(name: str, missing: list[Taken]) -> str:
    names = in_code(each.name for each in missing)
    return f"`{name}` lacks the argument{'' if len(missing) == 1 else 's'} {names}"


def _unknown(signature: Signature, name: str, span: Span, known: list[str]) -> Finding:
    return misspelled(span, f"`{signature.name}` has no argument `{name}`", name, known)


@dataclass(frozen=True, slots=True)
class Callee:
    """The signature of a called name, if it is known, or the macros of an imported file.

    `lacking` is the severity of a missing argument; None for an error. `is_inside` is whether a macro ends in
    the chunk that it begins in.
    """

    signature: Signature | None = None
    is_macro: bool = False
    is_inside: bool = True
    lacking: Severity | None = None
    members: Mapping[str, Callee] = field(default_factory=dict)

    @property
    def takes_caller(self) -> bool:
        """Whether a `call` block can call it."""
        taken = self.signature.parameters if self.signature else ()
        return any(each.name == "caller" or each.kind == "named" for each in taken)


Callees: TypeAlias = Mapping[str, Callee]
"""The known callees, by the name that the file calls."""


@chunk_fact
def chunk_calls(chunk: Chunk) -> tuple[tuple[int, str, Call], ...]:
    """Return the calls of names and of attributes of names: the offset of the tag, the name, the call."""
    found = []
    for start, node in expressions_in(chunk):
        if isinstance(node, Call):
            owner = node.function.target if isinstance(node.function, Attribute) else node.function
            if isinstance(owner, Name):
                found.append((start, owner.name, node))
    return tuple(found)


called_names: Final = summary(lambda chunk: frozenset(name for _, name, _ in chunk_calls(chunk)), union)
"""The names that a piece calls, or whose attributes it calls."""


def callees_of(file: File, called: frozenset[str]) -> Callees:
    """Return the callees of the called names that have a single meaning in the whole file, by name."""
    names = file.template.names
    imported, macros = names.bound_names("import"), _own_macros(file.template.source.root)
    otherwise = names.bound_otherwise("macro", "import")
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
            callee = _imported(file, bindings[name][0])
            if callee is not None:
                found[name] = callee
    rest = called - bindings.keys() - macros.keys() - otherwise
    functions_file = functions_path(file.snapshot, file.path) if rest else None
    functions = functions_in(functions_file) if functions_file else None
    for function in functions or ():
        if function.name in rest:
            is_known = bool(function.signature) and not function.decorators and function.name not in found
            signature = Signature(function.name, function.parameters) if is_known else None
            found[function.name] = Callee(signature)
    for name in rest - found.keys():
        signature = _given_function(file, name)
        if signature is not None:
            found[name] = Callee(signature)
    return found


def _given_function(file: File, name: str) -> Signature | None:
    """Return the signature of a function that all programs pass to the template under a name."""
    given = [dict(call.given).get(name) for call in calls_to(file.snapshot, file.path)]
    first = given[0] if given else None
    is_same = isinstance(first, KnownFunction) and all(each == first for each in given)
    return Signature(name, first.parameters) if isinstance(first, KnownFunction) and is_same else None


def _imported(file: File, binding: Binding) -> Callee | None:
    statement = statement_at(file.template, binding.span.start)
    node = statement.template if statement else None
    if statement is None or not isinstance(node, Constant) or not isinstance(node.value, str):
        return None
    reference = TemplateReference(statement.keyword, node.value, node.span)
    target = file.snapshot.resolve(file.path, reference)
    template = file.snapshot.template(target) if target else None
    if template is None:
        return None
    if statement.keyword == "import":
        names = template.names.bound_names("macro")
        members = {name: callee for name in names if (callee := _exported(template, name))}
        return Callee(members=members)
    exported = next((each.name for each in statement.imported if each.alias == binding.name), None)
    return _exported(template, exported) if exported else None


def _exported(template: Template, name: str) -> Callee | None:
    """Return a macro of another file if its name has no other meaning there."""
    return None if name in template.names.bound_names("set") else _own_macros(template.source.root).get(name)


def is_call_block(chunk: Chunk, tag_start: int, call: Call) -> bool:
    """Return whether the call is that of a `{% call %}` block, which passes a `caller`."""
    tag = chunk.tag_at(tag_start)
    statement = tag_tree(tag).statement if tag is not None and tag.kind == "statement" else None
    return (
        statement is not None
        and statement.keyword == "call"
        and any(each is call for each in statement.expressions)
    )


@chunk_fact
def _macros(chunk: Chunk) -> dict[int, tuple[Signature, bool]]:
    """Return the signatures of the chunk's macros by the offset of their names, and whether each ends in it."""
    found: dict[int, tuple[Signature, bool]] = {}
    implied = [
        (event.span.start, event.name)
        for event in chunk_events(chunk)
        if event.action == "read" and event.name in BODY_NAMES["macro"]
    ]
    blocks = chunk_blocks(chunk)
    ends = {pair.opening: chunk.tags[pair.closing].span.start for pair in blocks.pairs}
    opened = [pair.opening for pair in blocks.pairs if pair.keyword == "macro"]
    opened += [tag.place for tag in blocks.loose if tag.action == "open" and tag.keyword == "macro"]
    for index in opened:
        opening = chunk.tags[index]
        statement = tag_tree(opening).statement
        end = ends.get(index, chunk.length)
        read = {name for start, name in implied if opening.span.start <= start < end}
        taken = [
            Taken(each.name, _with_flag(each), is_required=each.default is None)
            for each in statement.parameters
        ]
        if "varargs" in read:
            taken.append(Taken("varargs", "*varargs", "rest"))
        if "kwargs" in read:
            taken.append(Taken("kwargs", "**kwargs", "named"))
        if "caller" in read and all(each.name != "caller" for each in taken):
            taken.append(Taken("caller", "caller", "keyword"))
        place = statement.name_span.shifted(opening.span.start)
        found[place.start] = (Signature(statement.name, tuple(taken)), index in ends)
    return found


def _with_flag(parameter: Parameter) -> str:
    """Return the name of a parameter of a macro, with its default if that is a boolean."""
    match parameter.default:
        case Constant(value=bool() as value):
            return f"{parameter.name}={value}"
    return parameter.name


def _chunk_macros(chunk: Chunk) -> dict[str, Callee | None]:
    """Return the macros that the chunk binds; None for one that is redefined."""
    found: dict[str, Callee | None] = {}
    signatures = _macros(chunk)
    for binding in chunk_bindings(chunk):
        if binding.kind == "macro":
            known = None if binding.name in found else signatures.get(binding.span.start)
            callee = None
            if known is not None:
                signature, is_inside = known
                callee = Callee(signature, is_macro=True, lacking="hint", is_inside=is_inside)
            found[binding.name] = callee
    return found


def _joined_macros(macros: list[dict[str, Callee | None]]) -> dict[str, Callee | None]:
    joined: dict[str, Callee | None] = {}
    for each in macros:
        for name, callee in each.items():
            joined[name] = None if name in joined else callee
    return joined


_all_macros: Final = summary(_chunk_macros, _joined_macros)
_implied_names: Final = summary(
    lambda chunk: frozenset(
        event.name
        for event in chunk_events(chunk)
        if event.action == "read" and event.name in BODY_NAMES["macro"]
    ),
    union,
)


def _own_macros(chunks: ChunkList) -> dict[str, Callee | None]:
    """Return the macros of a file by name; None for ambiguous ones.

    A macro that ends in another chunk is None too if any of the file's macros may accept further arguments.
    """
    found = _all_macros(chunks)
    if not _implied_names(chunks):
        return found
    return {name: callee if callee and callee.is_inside else None for name, callee in found.items()}
