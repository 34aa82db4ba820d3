"""What rules find in the pieces of a file, kept with each piece for as long as it holds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from promptls.meaning.contents import before_printing, before_typing
from promptls.meaning.header import Declarations
from promptls.meaning.kind import Kind
from promptls.rules.facts.aspects import same
from promptls.rules.facts.moved_findings import Found, moved
from promptls.rules.rule import Aspect, CheckNames, FileContext, Finding, Rule, Severity
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Group, Piece

_LOG: Final = logging.getLogger(__name__)

Chosen = tuple[Rule, Severity]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The rules that look at files of one kind under one project's settings, each with its severity.

    Two are equal only when they are the same object: findings are kept as long as their choice is.
    """

    project: Project
    kind: Kind
    aspects: tuple[Aspect, ...]
    """All that the rules for whole files look at."""
    in_files: tuple[tuple[frozenset[Aspect], Rule, Severity], ...]
    """The rules for whole files that say what they look at, each with that."""
    at_each_change: tuple[Chosen, ...]
    """The rules for whole files that look at each change."""
    in_prose: tuple[Chosen, ...]
    """The rules for chunks that look at all of their text."""
    around_prose: tuple[Chosen, ...]
    """The rules for chunks that find the same whatever the prose says."""
    around_values: tuple[Chosen, ...]
    """The rules for chunks that find the same whatever the prose says and prints."""
    in_declared: tuple[Chosen, ...]
    in_names: tuple[Chosen, ...]
    in_examples: tuple[Chosen, ...]
    by_name: Mapping[str, Rule]


def in_chunks(piece: Piece, choice: Choice) -> Found:
    """What the rules find that look at one chunk alone."""
    known = piece.kept.get(in_chunks)
    if isinstance(known, tuple) and known[0] is choice:
        return known[1]  # type: ignore[no-any-return]  # put there below
    if isinstance(piece, Chunk):
        found = (
            *_unless_typed(piece, choice, choice.around_values, before_printing),
            *_unless_typed(piece, choice, choice.around_prose, before_typing),
            *_in_chunk(piece, choice, choice.in_prose),
        )
    elif (
        _is_still_clean(piece, in_chunks, choice)
        and piece.before
        and in_chunks(piece.before[2], choice) == ()
    ):
        found = ()
    else:
        children = [in_chunks(child, choice) for child in piece.children]
        found = _joined(piece.starts, children)
    piece.kept[in_chunks] = (choice, found)
    return found


def _in_chunk(chunk: Chunk, choice: Choice, rules: tuple[Chosen, ...]) -> Found:
    return tuple(
        [
            finding
            for rule, severity in rules
            if rule.check_chunk is not None
            for finding in found_by(rule, severity, rule.check_chunk, chunk, choice.project)
        ]
    )


def _unless_typed(
    chunk: Chunk, choice: Choice, rules: tuple[Chosen, ...], before: Callable[[Chunk], Chunk | None]
) -> Found:
    """What those rules find: the same as in the chunk `before` the typing that they do not look at."""
    key = (_unless_typed, before)
    former = before(chunk)
    known = former.kept.get(key) if former is not None else None
    found: Found | None = None
    if isinstance(known, tuple) and known[0] is choice and chunk.before is not None:
        found = moved(known[1], chunk.before.edited, chunk.before.growth)
    if found is None:
        found = _in_chunk(chunk, choice, rules)
    chunk.kept[key] = (choice, found)
    return found


def _is_still_clean(group: Group, key: object, *basis: object) -> bool:
    """Whether nothing was found in the group that this one was, on the same basis."""
    known = group.before[0].get(key) if group.before is not None else None
    return (
        isinstance(known, tuple)
        and known[-1] == ()
        and all(one is other for one, other in zip(known, basis, strict=False))
    )


def in_declared(piece: Piece, choice: Choice, declared: Declarations) -> Found:
    """What the rules find that compare a chunk with what the file declares."""
    known = piece.kept.get(in_declared)
    if isinstance(known, tuple) and known[0] is choice and known[1] is declared:
        return known[2]  # type: ignore[no-any-return]  # put there below
    if isinstance(piece, Chunk):
        found = tuple(
            finding
            for rule, severity in choice.in_declared
            if rule.check_declared is not None
            for finding in found_by(rule, severity, rule.check_declared, piece, declared, choice.project)
        )
    elif (
        _is_still_clean(piece, in_declared, choice, declared)
        and piece.before
        and in_declared(piece.before[2], choice, declared) == ()
    ):
        found = ()
    else:
        children = [in_declared(child, choice, declared) for child in piece.children]
        found = _joined(piece.starts, children)
    piece.kept[in_declared] = (choice, declared, found)
    return found


def in_names(context: FileContext, choice: Choice, rule: Rule, severity: Severity) -> Found:
    """What a rule finds that needs to know what the names of a chunk mean in the file."""
    assert rule.check_names is not None
    root = context.template.source.root
    if not rule.check_names.mentioned(root):
        return ()
    try:
        facts = _facts(context, rule.check_names)
    except Exception:  # noqa: BLE001 - one rule that fails hides no other
        _LOG.exception("the rule %s failed", rule.name)
        return ()
    return _ByNames(choice, rule, severity, facts).found_in(root)


def _facts(context: FileContext, looking: CheckNames) -> Mapping[str, object]:
    """The facts of a file, as they were before where all that they come from is as it was."""
    root = context.template.source.root
    key = (_facts, looking)
    aspects = tuple(aspect(context) for aspect in looking.looks_at)
    earlier = root.kept.get(key) or (root.before[0].get(key) if root.before is not None else None)
    if isinstance(earlier, tuple) and all(map(same, earlier[0], aspects)):
        facts: Mapping[str, object] = earlier[1]
    else:
        facts = looking.facts(context)
    root.kept[key] = (aspects, facts)
    return facts


class _ByNames:
    """One look of one rule: the facts as they are now, and how far they differ from earlier ones."""

    def __init__(self, choice: Choice, rule: Rule, severity: Severity, facts: Mapping[str, object]) -> None:
        assert rule.check_names is not None
        self._choice = choice
        self._rule = rule
        self._severity = severity
        self._check = rule.check_names
        self._facts = facts
        self._differences: dict[int, tuple[object, frozenset[str]]] = {}

    def found_in(self, piece: Piece) -> Found:
        """What the rule finds in a piece."""
        mentioned = self._check.mentioned(piece)
        if not mentioned:
            return ()
        key = (in_names, self._rule.name)
        known = piece.kept.get(key)
        if isinstance(known, tuple) and known[0] is self._choice:
            if known[1] is self._facts:
                return known[2]  # type: ignore[no-any-return]  # put there below
            if self._different(known[1]).isdisjoint(mentioned):
                piece.kept[key] = (self._choice, self._facts, known[2])
                return known[2]  # type: ignore[no-any-return]  # put there below
        if isinstance(piece, Chunk):
            before = self._found_before(piece, key)
            if before is None:
                before = tuple(found_by(self._rule, self._severity, self._check.check, piece, self._facts))
            found = before
        elif (
            _is_still_clean(piece, key, self._choice, self._facts)
            and piece.before
            and self.found_in(piece.before[2]) == ()
        ):
            found = ()
        else:
            children = [self.found_in(child) for child in piece.children]
            found = _joined(piece.starts, children)
        piece.kept[key] = (self._choice, self._facts, found)
        return found

    def _found_before(self, chunk: Chunk, key: object) -> Found | None:
        """What the rule found before somebody typed prose, where it stands now; None where that may matter."""
        former = None if self._rule.reads_prose else before_typing(chunk)
        known = former.kept.get(key) if former is not None else None
        if not isinstance(known, tuple) or known[0] is not self._choice or known[1] is not self._facts:
            return None
        return moved(known[2], chunk.before.edited, chunk.before.growth) if chunk.before is not None else None

    def _different(self, earlier: Mapping[str, object]) -> frozenset[str]:
        """The names of which something else is known now."""
        known = self._differences.get(id(earlier))
        if known is None:
            facts = self._facts
            names = [name for name in facts.keys() | earlier.keys() if facts.get(name) != earlier.get(name)]
            known = self._differences[id(earlier)] = (earlier, frozenset(names))
        return known[1]


def _joined(starts: list[int], found: list[Found]) -> Found:
    """What was found in pieces that begin at these offsets."""
    return tuple(
        [finding.shifted(start) for start, each in zip(starts, found, strict=False) for finding in each]
    )


def found_by(
    rule: Rule, severity: Severity, look: Callable[..., Iterable[Finding]], *at: object
) -> list[Finding]:
    """What a rule finds; nothing where it fails, which is logged.

    A finding's own severity counts as long as the settings leave the rule's as it is.
    """
    is_set = severity != rule.severity
    try:
        return [
            finding.of(rule.name, severity if is_set else finding.severity or severity)
            for finding in look(*at)
        ]
    except Exception:  # noqa: BLE001 - one rule that fails hides no other
        _LOG.exception("the rule %s failed", rule.name)
        return []
