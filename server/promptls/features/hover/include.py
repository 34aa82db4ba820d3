"""The file that an include, import or `extends` leads to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from promptls.features.hover.hover import Hover, code
from promptls.meaning.template import Template
from promptls.rendering.file_rendering import FileRendering, rendered_parts
from promptls.text.counted import counted
from promptls.workspace.snapshot import Snapshot


def hover_include(
    snapshot: Snapshot, path: str, template: Template, offset: int, newest: FileRendering | None
) -> Hover | None:
    """The path of the named file, the parts that it brings in, and their tokens."""
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
            words.append(f"{counted(len(included.parts), 'part')}: {names}")
        if included is not None and newest is not None:
            words += _tokens(snapshot, path, included, target, newest)
        if reference.alternatives:
            words.append(f"the first that exists of {', '.join(map(code, reference.alternatives))}")
        return Hover(reference.span, "\n\n".join(words))
    return None


def _tokens(
    snapshot: Snapshot, path: str, included: Template, target: str, newest: FileRendering
) -> Iterator[str]:
    """The tokens of an included file as it is written, and of what became of its parts."""
    lines = []
    written = newest.template_tokens.get(included.source.text)
    if written is not None:
        lines.append(f"- template text: {counted(written, 'token')}")
    if newest.rendering is not None and included.parts:
        others = (snapshot.template(other) for other in snapshot.included(path) if other != target)
        names = frozenset(
            placed.part.name for other in others if other for placed in other.parts if placed.part.name
        )
        became = rendered_parts(included, names, newest.rendering)
        if any(became):
            tokens = sum(part.tokens for parts in became for part in parts)
            lines.append(f"- rendered: {counted(tokens, 'token')} with {code(newest.sample.name)}")
    if lines:
        yield "\n".join(lines)


def _shown(snapshot: Snapshot, target: str) -> str:
    """The path from the workspace's folder that holds the file."""
    for root in snapshot.roots:
        if Path(target).is_relative_to(root):
            return Path(target).relative_to(root).as_posix()
    return target
