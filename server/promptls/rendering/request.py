"""The job that renders a file of the workspace: its unsaved text, its settings, its functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from promptls.meaning.kind import Kind
from promptls.rendering.evaluation_request import evaluation_job
from promptls.rendering.job import Kind as JobKind
from promptls.rendering.job import RenderJob
from promptls.text.failure import FilePlace, WrongUse
from promptls.workspace.contract import functions_path
from promptls.workspace.python_names import functions_in
from promptls.workspace.snapshot import Snapshot

RENDERED_KINDS = frozenset({Kind.PARTS, Kind.SECTION, Kind.OBJECT, Kind.EVALUATION})
"""The kinds of files that can be rendered."""
JOB_KINDS: Final[dict[Kind, JobKind]] = {Kind.OBJECT: "prompt object", Kind.EVALUATION: "evaluation prompt"}
"""What a job calls the kinds that are no lists of parts."""
UNLIMITED = -1
"""The token limit that Prompt Poet takes for none."""


def job_for(
    snapshot: Snapshot,
    path: str,
    data: Mapping[str, Any],
    *,
    token_limit: int | None = None,
    truncation_step: int | None = None,
    with_stand_ins: bool = False,
) -> RenderJob:
    """What renders the file at `path` with `data`; limits that are None come from header and settings.

    A `functions` file is left out where the workspace is not trusted. `with_stand_ins` gives the
    template functions of our own for those that it calls and nobody provides, so that a preview
    shows something before its caller exists. Raises WrongUse for a file that is not there.
    """
    template = snapshot.template(path)
    if template is None:
        raise WrongUse("there is no such file", FilePlace(path))
    kind = snapshot.kind(path)
    header = template.declarations.settings
    settings = snapshot.project(path).settings
    functions = functions_path(snapshot, path) if snapshot.trusted else None
    return RenderJob(
        path=path,
        text=template.source.text,
        data=data,
        unsaved=snapshot.unsaved(),
        functions=functions,
        stand_ins=_stand_ins(snapshot, path, functions, data) if with_stand_ins else (),
        encoding=header.encoding or settings.encoding,
        token_limit=token_limit or header.token_limit or settings.token_limit or UNLIMITED,
        truncation_step=truncation_step or header.truncation_step or settings.truncation_step,
        kind=JOB_KINDS.get(kind, "parts template"),
        ragas_version=settings.ragas_version,
        evaluation=evaluation_job(snapshot, path) if kind is Kind.EVALUATION else None,
    )


def _stand_ins(
    snapshot: Snapshot, path: str, functions: str | None, data: Mapping[str, Any]
) -> tuple[str, ...]:
    """The names that the template and its includes call, and that neither data nor functions give."""
    given = {function.name for function in functions_in(functions) or ()} if functions else set()
    called = {
        name
        for included in snapshot.included(path)
        if (template := snapshot.template(included))
        for name in template.names.input_names & template.names.called_names - given - data.keys()
        if any(each.is_input and each.how == "call" for each in template.names.readings_of(name))
    }
    return tuple(sorted(called))
