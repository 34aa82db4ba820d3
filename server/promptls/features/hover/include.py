"""The file that an include, import or `extends` leads to."""

from __future__ import annotations

from pathlib import Path

from promptls.features.hover.hover import Hover, code
from promptls.meaning.template import Template
from promptls.workspace.snapshot import Snapshot


def hover_include(snapshot: Snapshot, path: str, template: Template, offset: int) -> Hover | None:
    """The path of the named file, and how many parts it brings in."""
    for reference in template.references:
        if not reference.span.contains(offset):
            continue
        target = snapshot.resolve(path, reference)
        if target is None:
            return Hover(reference.span, "no such file in the folders that an include may count from")
        included = snapshot.template(target)
        words = [f"{reference.keyword} of {code(_shown(snapshot, target))}"]
        if included is not None and included.parts:
            names = ", ".join(code(placed.part.name or "?") for placed in included.parts)
            words.append(f"{len(included.parts)} part{'s' if len(included.parts) > 1 else ''}: {names}")
        if reference.alternatives:
            words.append(f"the first that exists of {', '.join(map(code, reference.alternatives))}")
        return Hover(reference.span, "\n\n".join(words))
    return None


def _shown(snapshot: Snapshot, target: str) -> str:
    """The path from the workspace's folder that holds the file."""
    for root in snapshot.roots:
        if Path(target).is_relative_to(root):
            return Path(target).relative_to(root).as_posix()
    return target
