"""Find the Python calls that load a template."""

from __future__ import annotations

import os
from pathlib import Path

from promptls.facts.reads import question
from promptls.workspace.include_graph import ancestors
from promptls.workspace.python_calls import TemplateCall
from promptls.workspace.snapshot import Snapshot

_NONE = ""
"""A key that marks the cache of callers as filled, even if there are no calls; no path is empty."""


@question
def calls_to(snapshot: Snapshot, path: str) -> tuple[TemplateCall, ...]:
    """Return the calls in Python files of the workspace that load the template at `path`.

    A path is relative to the working directory of the program, which is unknown: it is resolved against
    the folders around the Python file, and must lead to exactly one existing file. A call whose path is
    ambiguous is left out.
    """
    if not snapshot.calls:
        return ()
    known = snapshot.known.callers
    if _NONE not in known:
        found: dict[str, list[TemplateCall]] = {}
        for calls in snapshot.calls.values():
            for call in calls:
                target = template_of(snapshot, call)
                if target is not None:
                    found.setdefault(target, []).append(call)
        known.update({target: tuple(each) for target, each in found.items()})
        known[_NONE] = ()
    return known.get(path, ())


def template_of(snapshot: Snapshot, call: TemplateCall) -> str | None:
    """Return the template that a call loads, or None if its path leads to no file or is ambiguous."""
    targets = _targets(snapshot, call)
    return targets.pop() if len(targets) == 1 else None


def _targets(snapshot: Snapshot, call: TemplateCall) -> set[str]:
    candidates = (
        os.path.normpath(Path(folder) / call.template) for folder in ancestors(call.file, snapshot.roots)
    )
    return {candidate for candidate in candidates if snapshot.exists(candidate)}
