"""`textDocument/codeAction`: fixes of findings, and what can be done with the whole file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.features.code_actions import QuickFix, quick_fixes
from promptls.features.code_lenses import actions
from promptls.features.experiment_runs import experiment_names
from promptls.features.mending import mending_edits
from promptls.features.new_prompt import beginnings
from promptls.features.run_actions import run_actions
from promptls.protocol.answers.plain_actions import in_form
from promptls.protocol.answers.refactor_actions import is_wanted, refactor_actions, workspace_edit
from promptls.protocol.convert import from_range, is_file, path_of, to_range
from promptls.rules.rule import Edit, Finding
from promptls.syntax.source import Source
from promptls.text.span import Span
from promptls.workspace.disk import has_prompt_name

if TYPE_CHECKING:
    from promptls.protocol.session import Session

FIX_ALL: Final = "source.fixAll.promptls"
RUN: Final = "promptls.run"


def code_action(
    session: Session, params: types.CodeActionParams
) -> list[types.CodeAction | types.Command] | None:
    """The actions for the range, of the kinds that are asked for."""
    path = session.prompt_path(params.text_document.uri)
    template = session.snapshot.template(path) if path else None
    if path is None or template is None:
        return _beginnings(session, params)
    only = [str(getattr(kind, "value", kind)) for kind in params.context.only or ()]
    found: list[types.CodeAction | types.Command] = []
    within = from_range(template.source, params.range, session.unit)
    # An editor that looks by itself shows a light bulb for every answer: it belongs to what is wrong.
    by_itself = params.context.trigger_kind == types.CodeActionTriggerKind.Automatic
    if is_wanted("quickfix", only):
        found += [
            _fix(session, path, template.source, fix, params.context.diagnostics)
            for fix in quick_fixes(session.diagnostics.findings(path), within)
        ]
    # Fixing all is offered to those who ask for it, as on saving, and not at every place.
    if only and is_wanted(FIX_ALL, only) and (edits := mending_edits(session.snapshot, path)):
        edit = workspace_edit(session, path, template.source, edits)
        found.append(types.CodeAction("Fix all that can be fixed safely", FIX_ALL, edit=edit))
    if only or not by_itself:
        found += refactor_actions(session, path, within, only)
    if not (by_itself and params.range.start.line > 0):
        found += _commands(session, params.text_document.uri, path, within.start, only)
    return in_form(session, path, found)


def _beginnings(
    session: Session, params: types.CodeActionParams
) -> list[types.CodeAction | types.Command] | None:
    """The prompts that an empty file can begin with; None for a file with text in it."""
    path = path_of(params.text_document.uri)
    template = session.snapshot.template(path)
    only = [str(getattr(kind, "value", kind)) for kind in params.context.only or ()]
    is_named = has_prompt_name(path) or not is_file(path)
    if template is None or not is_named or template.source.text.strip():
        return None
    if not is_wanted(types.CodeActionKind.RefactorRewrite, only):
        return None
    whole = Span(0, len(template.source))
    found: list[types.CodeAction | types.Command] = [
        types.CodeAction(
            title,
            types.CodeActionKind.RefactorRewrite,
            edit=workspace_edit(session, path, template.source, (Edit(whole, text),)),
        )
        for title, text in beginnings(path)
    ]
    return in_form(session, path, found)


def _fix(
    session: Session, path: str, source: Source, quick: QuickFix, diagnostics: Iterable[types.Diagnostic]
) -> types.CodeAction:
    return types.CodeAction(
        quick.fix.title,
        types.CodeActionKind.QuickFix,
        diagnostics=_answered(session, source, quick.finding, diagnostics) or None,
        is_preferred=(quick.fix.preferred and session.flags.preferred_actions) or None,
        edit=workspace_edit(session, path, source, quick.fix.edits),
    )


def _answered(
    session: Session, source: Source, finding: Finding, diagnostics: Iterable[types.Diagnostic]
) -> list[types.Diagnostic]:
    """The client's diagnostics that show the finding."""
    place = to_range(source, finding.span, session.unit)
    return [each for each in diagnostics if each.code == finding.rule and each.range == place]


def _commands(
    session: Session, uri: str, path: str, offset: int, only: list[str]
) -> Iterator[types.CodeAction]:
    from promptls.features.contract.formats import contract_actions

    runs = actions(session.snapshot, path, experiment_names(session.snapshot, path))
    own = ((RUN, action) for action in (*runs, *contract_actions(session.snapshot, path, offset)))
    known = run_actions(session.snapshot, path, offset, session.runs.newest(path))
    for kind, action in (*own, *((f"{RUN}.{each.kind}", each.action) for each in known)):
        command = types.Command(action.title, action.command, arguments=[{"uri": uri, **action.arguments}])
        if not is_wanted(kind, only):
            continue
        yield types.CodeAction(action.title, kind, command=command)
