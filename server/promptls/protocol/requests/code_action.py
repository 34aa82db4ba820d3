"""`textDocument/codeAction`: fixes of findings, and what can be done with the whole file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.features.code_actions import QuickFix, fix_all, quick_fixes
from promptls.features.code_lenses import actions
from promptls.features.experiment_runs import experiment_names
from promptls.protocol.convert import from_range, to_range
from promptls.rules.rule import Edit, Finding
from promptls.syntax.source import Source

if TYPE_CHECKING:
    from promptls.protocol.session import Session

FIX_ALL: Final = "source.fixAll.promptls"
RUN: Final = "promptls.run"
KINDS: Final = (types.CodeActionKind.QuickFix, FIX_ALL, RUN)


def code_action(
    session: Session, params: types.CodeActionParams
) -> list[types.CodeAction | types.Command] | None:
    """The actions for the range, of the kinds that are asked for."""
    path = session.prompt_path(params.text_document.uri)
    template = session.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    only = [str(getattr(kind, "value", kind)) for kind in params.context.only or ()]
    found: list[types.CodeAction | types.Command] = []
    if session.flags.code_action_literals:
        findings = session.diagnostics.findings(path)
        if _is_wanted("quickfix", only):
            within = from_range(template.source, params.range, session.unit)
            found += [
                _fix(session, path, template.source, fix, params.context.diagnostics)
                for fix in quick_fixes(findings, within)
            ]
        # Fixing all is offered to those who ask for it, as on saving, and not at every place.
        if only and _is_wanted(FIX_ALL, only) and (edits := fix_all(findings)):
            edit = _workspace_edit(session, path, template.source, edits)
            found.append(types.CodeAction("Fix all that can be fixed safely", FIX_ALL, edit=edit))
    # An editor that looks by itself shows a light bulb for every answer: it belongs to the first line only.
    by_itself = params.context.trigger_kind == types.CodeActionTriggerKind.Automatic
    if _is_wanted(RUN, only) and not (by_itself and params.range.start.line > 0):
        at = from_range(template.source, params.range, session.unit).start
        found += _commands(session, params.text_document.uri, path, at)
    return found


def _is_wanted(kind: str, only: list[str]) -> bool:
    return not only or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in only)


def _fix(
    session: Session, path: str, source: Source, quick: QuickFix, diagnostics: Iterable[types.Diagnostic]
) -> types.CodeAction:
    return types.CodeAction(
        quick.fix.title,
        types.CodeActionKind.QuickFix,
        diagnostics=_answered(session, source, quick.finding, diagnostics) or None,
        is_preferred=quick.fix.preferred or None,
        edit=_workspace_edit(session, path, source, quick.fix.edits),
    )


def _answered(
    session: Session, source: Source, finding: Finding, diagnostics: Iterable[types.Diagnostic]
) -> list[types.Diagnostic]:
    """The client's diagnostics that show the finding."""
    place = to_range(source, finding.span, session.unit)
    return [each for each in diagnostics if each.code == finding.rule and each.range == place]


def _workspace_edit(
    session: Session, path: str, source: Source, edits: Iterable[Edit]
) -> types.WorkspaceEdit:
    uri = session.uri_of(path)
    changes = [types.TextEdit(to_range(source, edit.span, session.unit), edit.text) for edit in edits]
    if not session.flags.versioned_edits:
        return types.WorkspaceEdit(changes={uri: changes})
    opened = session.snapshot.open_files.get(path)
    document = types.OptionalVersionedTextDocumentIdentifier(uri, opened.version if opened else None)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, changes)])


def _commands(
    session: Session, uri: str, path: str, offset: int
) -> Iterator[types.CodeAction | types.Command]:
    from promptls.features.contract.formats import contract_actions

    runs = actions(session.snapshot, path, experiment_names(session.snapshot, path))
    for action in (*runs, *contract_actions(session.snapshot, path, offset)):
        command = types.Command(action.title, action.command, arguments=[{"uri": uri, **action.arguments}])
        if session.flags.code_action_literals:
            yield types.CodeAction(action.title, RUN, command=command)
        else:
            yield command
