"""Names that the examples of a prompt use in place of declared ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import File
from promptls.semantic.header import Example
from promptls.semantic.names.scopes import INJECTED
from promptls.syntax.yaml.nodes import Entry, Sequence, key_text, scalar_text
from promptls.text.suggest import is_close, nearest

_MIN_AGREEING: Final = 2
"""The minimum number of examples that show the declaration to be wrong."""


def declared_keys(file: File) -> tuple[str, ...] | None:
    """Return the inputs and the output; None if the file does not declare both."""
    declarations = file.template.declarations
    output = declarations.data.get("output_key")
    if declarations.inputs is None or not isinstance(output, str):
        return None
    return (*(key.name for key in declarations.inputs), output)


def required_keys(file: File) -> tuple[str, ...]:
    """Return the keys that every example needs, without those that no example has by the same name."""
    declarations = file.template.declarations
    required = [key.name for key in declarations.inputs or () if "default" not in key.schema]
    output = declarations.data.get("output_key")
    if isinstance(output, str) and output:
        required.append(output)
    misnamed = dict(misnamed_keys(file))  # `unknown-example-key` reports these at their declaration
    return tuple(dict.fromkeys(name for name in required if name not in misnamed))


def renamed_key(
    example: Example, required: tuple[str, ...], known: tuple[str, ...]
) -> tuple[Entry, str] | None:
    """Return the only undeclared key of an example, and the only one that it lacks, if no typo explains it."""
    lacking = [name for name in required if name not in example.data]
    unknown = [entry for entry in example.entries if key_text(entry) not in {*known, *INJECTED}]
    names = [str(key_text(entry)) for entry in unknown]
    if len(lacking) != 1 or len(unknown) != 1 or example.has_printed_keys or "<<" in names:
        return None
    return None if nearest(lacking[0], names) else (unknown[0], lacking[0])


def misnamed_keys(file: File) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the declared names that no example has, each with what all have instead.

    That is a similar key, or several keys between which a comma is missing.
    """
    examples = file.template.declarations.examples
    known = declared_keys(file)
    if known is None or len(examples) < _MIN_AGREEING:
        return
    unused = [name for name in known if not any(name in example.data for example in examples)]
    if not unused:
        return
    keys = frozenset.intersection(*(frozenset(map(str, example.data)) for example in examples)) - set(known)
    for name in unused:
        names = tuple(name.split())
        meant = [key for key in keys if is_close(key, name)]
        if len(names) > 1 and keys.issuperset(names):
            yield name, names
        elif len(meant) == 1:
            yield name, (meant[0],)
        elif len(unused) == len(keys) == 1:
            yield name, tuple(keys)


def undeclared_in_all(file: File) -> frozenset[str]:
    """Return the undeclared keys that every one of several examples has."""
    known = declared_keys(file)
    examples = file.template.declarations.examples
    if known is None or len(examples) < _MIN_AGREEING:
        return frozenset()
    # Usually the first example has no such key, so that the others are not read.
    found = frozenset(map(str, examples[0].data)) - {*known}
    return frozenset(name for name in found if all(name in example.data for example in examples))


def meant_by_repeated_input(file: File) -> str | None:
    """Return the only undeclared key of all examples, if a name occurs twice in the list `input_keys`."""
    declared = file.template.declarations
    listed = declared.tree.value("input_keys") if declared.tree is not None else None
    names = [scalar_text(item) for item in listed.items] if isinstance(listed, Sequence) else []
    if len({*names}) == len(names):
        return None
    known = {key.name for key in declared.inputs or ()} | {str(declared.data.get("output_key"))}
    keys = [frozenset(map(str, example.data)) - known for example in declared.examples]
    found = frozenset.intersection(*keys) if keys else frozenset()
    return next(iter(found)) if len(found) == 1 else None
