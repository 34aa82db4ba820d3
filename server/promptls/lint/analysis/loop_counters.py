"""Uses of `loop`, and of the counters of loops under other names, where they are not defined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.namespaces import uses_in
from promptls.lint.analysis.unmatched_names import binding_of, declared_names, given_names, names_in_scope
from promptls.lint.rule import Edit, File, Finding, Fix
from promptls.syntax.jinja.nodes import Name, Test
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.positions import Span

_COUNTERS: Final = frozenset({"index", "index0"})
_DJANGO: Final = "forloop"
_DJANGO_COUNTERS: Final = {
    "counter": "index",
    "counter0": "index0",
    "first": "first",
    "index": "index",
    "index0": "index0",
    "last": "last",
    "length": "length",
    "revcounter": "revindex",
    "revcounter0": "revindex0",
}
"""The attributes of a loop in Django and Liquid, with their names in Jinja."""


def loops_outside_of_loops(file: File) -> Iterator[Finding]:
    """Yield the uses of `loop` outside of a loop."""
    names = file.template.names
    if "loop" not in names.input_names:
        return
    # A broken tag may be intended to open or close a loop.
    if file.template.has_broken_tags:
        return
    declared = {key.name for key in file.template.declarations.inputs or ()}
    includers = file.snapshot.includers(file.path)
    if "loop" in declared or _tests_loop(file) or any(_binds_loop(file, path) for path in includers):
        return
    message = "`loop` is there only in a loop"
    if includers:
        message = (
            "an included file does not see `loop`; where it is included, pass on what it needs with `set`"
        )
    for reference in names.references_of("loop"):
        if reference.binding is None:
            yield Finding(reference.span, message)


def _tests_loop(file: File) -> bool:
    """Return whether the file tests if `loop` is defined."""
    return any(
        isinstance(node, Test)
        and node.name in {"defined", "undefined"}
        and isinstance(node.target, Name)
        and node.target.name == "loop"
        for located in file.template.names.chunks_referencing("loop")
        for _, node in expressions_in(located.chunk)
    )


def _binds_loop(file: File, path: str) -> bool:
    template = file.snapshot.template(path)
    return template is None or binding_of(template.names, "loop") is not None


def bare_counters(file: File) -> Iterator[Finding]:
    """Yield `index` in a loop, in a file that reads `loop.index` elsewhere."""
    names = file.template.names
    suspicious = _COUNTERS & names.input_names - names.all_bound_names - (declared_names(file) or frozenset())
    if not suspicious or file.snapshot.includers(file.path):
        return
    suspicious -= given_names(file)
    suspicious &= {each.name for each in uses_in(file) if each.owner == "loop"} if suspicious else set()
    for name in sorted(suspicious):
        references = list(names.references_of(name))
        if all("loop" in names_in_scope(names, each.span.start) and not each.how for each in references):
            for each in references:
                meant = f"loop.{name}"
                yield Finding.suggest(each.span, f"nothing is named `{name}`", meant)


def django_counters(file: File) -> Iterator[Finding]:
    """Yield the uses of `forloop`, which Jinja calls `loop`."""
    names = file.template.names
    if _DJANGO not in names.input_names or _DJANGO in names.all_bound_names | (declared_names(file) or set()):
        return
    if _DJANGO in given_names(file):
        return
    attributes = {each.span.start: each for each in uses_in(file) if each.owner == _DJANGO}
    for reference in names.references_of(_DJANGO):
        use = attributes.get(reference.span.end + 1)
        meant = _DJANGO_COUNTERS.get(use.name) if use is not None else None
        message = "nothing is named `forloop`; Jinja calls it `loop`"
        if use is None or meant is None or "loop" not in names_in_scope(names, reference.span.start):
            yield Finding(reference.span, message)
        else:
            edit = Edit(Span(reference.span.start, use.span.end), f"loop.{meant}")
            yield Finding(reference.span, message, (Fix(f"Change to `loop.{meant}`", (edit,)),))
