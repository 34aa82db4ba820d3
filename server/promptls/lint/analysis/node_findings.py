"""What a rule finds in a list or mapping of a chunk, kept with that for as long as nobody edits it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from promptls.lint.rule import Finding
from promptls.syntax.yaml.nodes import Collection


class _Known(NamedTuple):
    """What was found in a node that began at `start`."""

    basis: object
    start: int
    findings: tuple[Finding, ...]


def found_in_node(
    node: Collection, basis: object, look: Callable[..., Iterable[Finding]], *at: object
) -> tuple[Finding, ...]:
    """Return what `look(node, basis, *at)` finds, which depends only on the node's text and the basis.

    The findings stand in the node, and are kept by `look`, one function for each rule.
    """
    core = node.core
    if core.kept is None:
        core.kept = {}
    known = core.kept.get(look)
    if not isinstance(known, _Known) or known.basis != basis:
        known = _Known(basis, node.span.start, tuple(look(node, basis, *at)))
        core.kept[look] = known
    by = node.span.start - known.start
    return (
        tuple([finding.shifted(by) for finding in known.findings])
        if by and known.findings
        else known.findings
    )
