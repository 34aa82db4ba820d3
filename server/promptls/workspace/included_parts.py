"""The part names that a file's includes bring in beside its own."""

from __future__ import annotations

from promptls.workspace.snapshot import Snapshot


def included_part_names(snapshot: Snapshot, path: str) -> frozenset[str]:
    """The written-out names of the parts in every file that the one at `path` includes."""
    return frozenset(
        name
        for included in snapshot.included(path)[1:]
        if (template := snapshot.template(included))
        for placed in template.parts
        if (name := placed.part.name) is not None
    )
