"""Which Python calls load a template."""

from __future__ import annotations

import os
from pathlib import Path

from promptls.facts.reads import question
from promptls.workspace.include_graph import ancestors
from promptls.workspace.python_calls import TemplateCall
from promptls.workspace.snapshot import Snapshot

_NONE = ""
"""No path is empty: stands beside the callers, so that a workspace without any is known as well."""


@question
def calls_to(snapshot: Snapshot, path: str) -> tuple[TemplateCall, ...]:
    """Return the calls in Python files of the workspace that load the template at `path`.

    A path counts from the folder that the program is started in, which nobody knows: it is taken
    to lead to the one file that is there when counted from a folder around the Python file. A call
    whose path could mean several files is left out.
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
    """Return the template that a call loads; None if its path leads to none, or could mean several."""
    targets = _targets(snapshot, call)
    return targets.pop() if len(targets) == 1 else None


def _targets(snapshot: Snapshot, call: TemplateCall) -> set[str]:
    candidates = (
        os.path.normpath(Path(folder) / call.template) for folder in ancestors(call.file, snapshot.roots)
    )
    return {candidate for candidate in candidates if snapshot.exists(candidate)}
