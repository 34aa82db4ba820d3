"""Call of an unknown function.

In a file that declares its inputs or names a `functions` file, reports calls of a name that is not a
macro, an import, a function of Jinja or Prompt Poet, a function of that file, or a declared input. A
file that declares no inputs itself is checked against the files that include it. Nothing is reported if
the `functions` file cannot be read, or if every call is under a condition that tests for the function.
In every file, reports calls of a macro without the name of the imported module that has it, or without its alias.
In a file that declares nothing, calls of functions of Python and PHP that Jinja lacks, and, as a hint, of a filter
or test as if it were a function, or of a function that other programs add to Jinja, such as `now`.

## Why is this bad?

Rendering fails: "'titel' is undefined".

## Example

```yaml
{#---
input_keys: [text]
---#}
{% macro shout(words) %}{{ words | upper }}{% endmacro %}
- name: ticket
  content: |
    {{ shuot(text) }} {{ shout(text) }}
       ^^^^^ unknown-function: nothing provides the function `shuot`; did you mean `shout`?
```

Use instead:

```yaml
{#---
input_keys: [text]
---#}
{% macro shout(words) %}{{ words | upper }}{% endmacro %}
- name: ticket
  content: |
    {{ shout(text) }}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from promptls.lint.analysis.unmatched_names import (
    Unprovided,
    binding_of,
    declared_names,
    describe_entries,
    given_names,
    include_places,
    names_in_includers,
    out_of_scope,
)
from promptls.lint.analysis.unresolved_templates import lacking_imports, renamed_macros
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.fixes.yaml_edits import added_input
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, rule
from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.names.scopes import GLOBALS, INJECTED, NameReference
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.types.shape import UNKNOWN
from promptls.syntax.jinja.builtins import FILTERS
from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Constant, Item, Keyword, Name
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo
from promptls.workspace.contract import IncludeChain, function_names, functions_path, include_chains
from promptls.workspace.disk import text_on_disk
from promptls.workspace.snapshot import Snapshot

_CALLABLE_KINDS = ("macro", "import")
_ALWAYS_DEFINED = GLOBALS | INJECTED
_NO_FUNCTIONS = frozenset({"self", "token_limit"})
_MIN_TYPO = 5
_MIN_LONG = 12


@rule(severity="warning", kinds=JINJA_KINDS)
def unknown_function(file: File) -> Iterator[Finding]:
    """Yield the calls of undefined functions."""
    names = file.template.names
    if (names.called_names & names.input_names) <= _ALWAYS_DEFINED:
        return
    unprefixed = {finding.span: finding for finding in _unprefixed(file)}
    yield from unprefixed.values()
    yield from (finding for finding in _undefined(file) if finding.span not in unprefixed)


def _unprefixed(file: File) -> Iterator[Finding]:
    """Yield the calls of imported macros without the name of their module, or by another name than their alias."""
    macros = renamed_macros(file)
    passed = given_names(file) | names_in_includers(file) if macros else frozenset()
    for name in sorted(macros.keys() - passed - (function_names(file.snapshot, file.path) or set())):
        for reference in file.template.names.references_of(name):
            if reference.how == "call" and reference.binding is None:
                message = f"`{name}` is a macro of the import `{macros[name].binding.name}`"
                yield Finding.suggest(reference.span, message, macros[name].name, preferred=True)


def _undefined(file: File) -> Iterator[Finding]:
    chains = [chain for chain in include_chains(file.snapshot, file.path) if chain.reference is not None]
    declared = declared_names(file)
    functions = function_names(file.snapshot, file.path)
    if declared is None and not chains and functions is not None:
        yield from _python_functions(file, functions)
    if declared is None and chains:
        yield from _in_section(file, chains)
        if functions is not None and not any(chain.declares for chain in chains):
            yield from _python_functions(file, functions | names_in_includers(file))
        return
    if functions is None or (declared is None and not functions_path(file.snapshot, file.path)):
        return
    known = functions.union(declared or (), *(chain.bound for chain in chains))
    # `unresolved-import` reports a misspelled import, and what it suggests is called here.
    known |= {edit.text for each in lacking_imports(file) for fix in each.fixes for edit in fix.edits}
    suggested = _own_suggestions(file) | functions
    for reference in _unknown_calls(file, known):
        name = reference.name
        elsewhere = binding_of(file.template.names, name)
        if elsewhere is not None:
            yield Finding(reference.span, out_of_scope(file, elsewhere, reference.span))
        elif not _may_be_defined(file.snapshot, (file.path,), name):
            if name in PYTHON_FUNCTIONS:
                if declared is not None:
                    yield _python_function(file, reference)
                continue
            finding = misspelled(reference.span, f"nothing provides the function `{name}`", name, suggested)
            is_certain = any(fix.preferred for fix in finding.fixes)
            yield (
                finding if is_certain else replace(finding, fixes=(*finding.fixes, *added_input(file, name)))
            )


PYTHON_FUNCTIONS = {
    "abs": "abs",
    "bool": "",
    "enumerate": "",
    "float": "float",
    "int": "int",
    "isinstance": "",
    "len": "length",
    "list": "list",
    "map": "",
    "max": "max",
    "min": "min",
    "print": "",
    "repr": "",
    "reversed": "reverse",
    "round": "round",
    "sorted": "sort",
    "str": "string",
    "sum": "sum",
    "tuple": "",
    "type": "",
    "zip": "",
}
"""Python functions that Jinja does not have, and the equivalent filters."""
_PHP_TESTS: Final = {"empty": "not", "is_null": "is none", "isset": "is defined"}
"""Functions of PHP, and what Jinja writes instead."""

_OF_OTHERS: Final = {
    "lookup": "Ansible",
    "now": "Ansible and Home Assistant",
    "raise_exception": "chat templates",
    "strftime_now": "chat templates",
    "url_for": "Flask",
    "utcnow": "Home Assistant",
}
"""Functions that other programs add to Jinja."""


def _python_functions(file: File, functions: frozenset[str]) -> Iterator[Finding]:
    if functions_path(file.snapshot, file.path):
        return
    names = file.template.names
    passed = given_names(file)
    included = {
        name: reference.name
        for reference in file.template.references
        if reference.keyword == "include"
        and (path := file.snapshot.resolve(file.path, reference))
        and (template := file.snapshot.template(path))
        for name in template.names.bound_names("macro")
    }
    for reference in _unknown_calls(file, (names.input_names - names.called_names) | passed | functions):
        if reference.name in PYTHON_FUNCTIONS:
            yield _python_function(file, reference)
        elif reference.name in included:
            message = (
                f"`{reference.name}` is a macro of `{included[reference.name]}`: only an import defines it"
            )
            yield Finding(reference.span, message)
        elif reference.name in _PHP_TESTS:
            message = f"Jinja has no function `{reference.name}`; it writes `{_PHP_TESTS[reference.name]}`"
            yield Finding(reference.span, message)
        elif reference.name in FILTERS:
            yield replace(_filter(file, reference, reference.name), severity="hint")
        elif reference.name == "defined":
            message = "`defined` is a test: Jinja writes `is defined`"
            yield Finding(reference.span, message, severity="hint")
        elif reference.name in _OF_OTHERS:
            message = (
                f"`{reference.name}` is a function of {_OF_OTHERS[reference.name]}: Prompt Poet has it only if the "
                "data does"
            )
            yield Finding(reference.span, message, severity="hint")
        elif (meant := _typo_of_function(file, reference.name)) is not None:
            yield Finding.suggest(reference.span, f"nothing else is named `{reference.name}`", meant)


def _typo_of_function(file: File, name: str) -> str | None:
    """Return the macro, import or built-in function that a called name certainly misspells."""
    names = file.template.names
    lacking = [finding.span for finding in lacking_imports(file)]
    imported = {
        binding.name
        for binding in names.bindings_of("import")
        if not any(span.covers(binding.span.start) for span in lacking)
    }
    bound = names.bound_names("macro") | imported
    uncalled = bound - names.read_names
    return next(
        (
            known
            for known in sorted((bound | _ALWAYS_DEFINED) - _NO_FUNCTIONS)
            if (
                is_typo(name, known)
                and (max(len(name), len(known)) >= _MIN_TYPO or known in uncalled)
                and (known in uncalled or not (name.startswith(known) or name.endswith(known)))
            )
            or (known in INJECTED and len(known) >= _MIN_LONG and is_close(name, known))
        ),
        None,
    )


def _python_function(file: File, reference: NameReference) -> Finding:
    """Return a finding for the call of a Python function, with the equivalent filter."""
    name = PYTHON_FUNCTIONS[reference.name]
    message = f"Jinja has no function `{reference.name}`"
    if reference.name == "enumerate":
        return Finding(reference.span, f"{message}; `loop.index0` counts", tuple(_counted(file, reference)))
    return _filter(file, reference, name) if name else Finding(reference.span, message)


def _filter(file: File, reference: NameReference, name: str) -> Finding:
    """Return a finding for the call of a function that is a filter in Jinja."""
    message = f"Jinja has no function `{reference.name}`"
    located = file.template.source.located(reference.span.start)
    for start, node in expressions_in(located.chunk):
        if isinstance(node, Call) and node.function.span.shifted(located.start + start) == reference.span:
            begin = located.start + start
            texts = [file.template.source.slice(each.span.shifted(begin)) for each in node.arguments]
            takes_others = name == "round" or reference.name not in PYTHON_FUNCTIONS
            first = node.arguments[0] if node.arguments else None
            if first is None or isinstance(first, Keyword | Constant) or (texts[1:] and not takes_others):
                break
            is_simple = isinstance(first, Name | Attribute | Item | Call)
            value = texts[0] if is_simple else f"({texts[0]})"
            others = f"({', '.join(texts[1:])})" if texts[1:] else ""
            written = f"{value} | {name}{others}"
            fix = Fix.change_to(node.span.shifted(begin), written)
            return Finding(reference.span, f"{message}; did you mean the filter `{name}`?", (fix,))
    return Finding(reference.span, f"{message}; did you mean the filter `{name}`?")


def _counted(file: File, reference: NameReference) -> Iterator[Fix]:
    """Yield the fix of `for i, x in enumerate(xs)`, which reads `loop.index0` in the place of `i`.

    Yield nothing if `i` is read by a loop inside of the loop, or by nothing.
    """
    statement = statement_at(file.template, reference.span.start)
    call = statement.first if statement is not None else None
    if statement is None or statement.keyword != "for" or not isinstance(call, Call):
        return
    target = statement.targets[0]
    pair = list(target.items) if isinstance(target, Collection) else []
    start = reference.span.start - call.function.span.start
    if len(pair) != len(["counter", "element"]):
        return
    counter, element = pair
    if not isinstance(counter, Name) or not call.arguments or call.arguments[2:]:
        return
    first = call.arguments[1] if call.arguments[1:] else Constant(call.span, 0)
    first = first.value if isinstance(first, Keyword) else first
    if file.template.source.slice(target.span.shifted(start))[:1] == "(":
        return
    if not isinstance(first, Constant) or first.value not in {0, 1} or isinstance(call.arguments[0], Keyword):
        return
    index = "loop.index" if first.value else "loop.index0"
    here = counter.span.shifted(start)
    loops = _loops_at(file, file.template.source.text.find("%}", reference.span.end) + 2)
    edits = [
        Edit(Span(here.start, element.span.start + start), ""),
        Edit(call.span.shifted(start), file.template.source.slice(call.arguments[0].span.shifted(start))),
    ]
    for each in file.template.names.references_of(counter.name):
        if each.binding is None or each.binding.span != here:
            continue
        if _loops_at(file, each.span.start) != loops:
            return
        edits.append(Edit(each.span, index))
    yield Fix(f"Use `{index}`", tuple(edits))


def _loops_at(file: File, offset: int) -> list[int]:
    return [block.opening for block in file.template.branches.at(offset) if block.keyword == "for"]


def _in_section(file: File, chains: list[IncludeChain]) -> Iterator[Finding]:
    """Yield the calls in a file that is checked in the context of the files that include it."""
    relevant = [chain for chain in chains if chain.declares or _names_functions(file.snapshot, chain.entry)]
    if not relevant:
        return
    for reference in _unknown_calls(file, frozenset.intersection(*(chain.provided for chain in relevant))):
        name = reference.name
        lacking = tuple(chain for chain in relevant if name not in chain.provided)
        if _may_be_defined(file.snapshot, {path for chain in lacking for path in _files(chain)}, name):
            continue
        found = Unprovided(reference, lacking, len(lacking) < len(chains), None)
        message = f"nothing provides the function `{name}`"
        if found.is_provided_elsewhere:
            message += f" for {describe_entries(found)}, which this file is included from"
        suggested = _own_suggestions(file).union(
            frozenset.intersection(*(chain.provided for chain in lacking))
        )
        finding = misspelled(reference.span, message, name, suggested)
        yield replace(finding, related=include_places(found))


def _unknown_calls(file: File, known: frozenset[str]) -> Iterator[NameReference]:
    """Yield the calls of names that are not defined in the file or in `known` and not tested in a condition."""
    names = file.template.names
    for name in sorted(names.input_names - known - {"loop", "caller", "super"}):
        calls = [
            reference
            for reference in names.references_of(name)
            if reference.how == "call" and reference.binding is None
        ]
        shape = used_shapes(file.template).get(name, UNKNOWN)
        if calls and (shape.needed or not shape.optional):
            yield from calls


def _own_suggestions(file: File) -> frozenset[str]:
    names = file.template.names
    bound = frozenset[str]().union(*(names.bound_names(kind) for kind in _CALLABLE_KINDS))
    return (bound | _ALWAYS_DEFINED) - _NO_FUNCTIONS


def _files(chain: IncludeChain) -> tuple[str, ...]:
    return (chain.entry,) if chain.includer is None else (chain.entry, chain.includer)


def _names_functions(snapshot: Snapshot, entry: str) -> bool:
    """Return whether a template has a functions file that can be read."""
    return functions_path(snapshot, entry) is not None and function_names(snapshot, entry) is not None


def _may_be_defined(snapshot: Snapshot, paths: Iterable[str], name: str) -> bool:
    """Return whether a functions file contains the name at all, as it may define functions dynamically."""
    files = {functions_path(snapshot, path) for path in paths}
    texts = [text_on_disk(named_file) for named_file in files if named_file is not None]
    return any(text is not None and re.search(rf"\b{re.escape(name)}\b", text) for text in texts)
