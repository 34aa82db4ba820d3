"""How far the beginning of a prompt is the same for every request, through what it includes."""

from __future__ import annotations

from promptls.meaning.prefix import UnstablePrefix, unstable_prefixes
from promptls.meaning.references import TemplateReference
from promptls.meaning.template import Template
from promptls.workspace.contract import contract_of
from promptls.workspace.snapshot import Snapshot


def request_prefixes(snapshot: Snapshot, path: str) -> tuple[UnstablePrefix, ...]:
    """Where the prompt of the file at `path` first changes, and the fixed texts behind that.

    First where an input is printed, then where an `if` hangs on one.
    """
    template = snapshot.template(path)
    if template is None:
        return ()

    def included(reference: TemplateReference) -> Template | None:
        target = snapshot.resolve(path, reference)
        return snapshot.template(target) if target is not None else None

    return unstable_prefixes(template, included, contract_of(snapshot, path).names)
