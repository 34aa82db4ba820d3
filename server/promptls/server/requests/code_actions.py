"""Code actions: fixes of diagnostics, refactorings, and commands for the whole file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcContentModified

from promptls.ide.code_actions import QuickFix, fix_all_edits, quick_fixes
from promptls.ide.code_lenses import Action as CommandAction
from promptls.ide.code_lenses import actions, run_actions
from promptls.ide.contract_formats import contract_actions
from promptls.ide.experiment_runs import experiment_names
from promptls.ide.new_prompt import beginnings
from promptls.ide.refactor import REFACTORINGS, offers, place_at
from promptls.ide.refactor.refactoring import Change
from promptls.lint.rule import Edit, Finding
from promptls.server.context import Context
from promptls.server.diagnostics import Diagnostics
from promptls.server.lifecycle import PROGRAM_ENDING
from promptls.server.locations import text_edits, versioned_edit, workspace_edit
from promptls.server.state.findings import ProgramFindings
from promptls.server.state.latest_runs import LatestRuns
from promptls.server.to_proto import from_range, is_file, path_of, to_range
from promptls.syntax.source import Source
from promptls.text.positions import Span
from promptls.workspace.disk import has_prompt_name

FIX_ALL: Final = "source.fixAll.promptls"
RUN: Final = "promptls.run"


def code_action(
    context: Context,
    diagnostics: Diagnostics,
    programs: ProgramFindings,
    runs: LatestRuns,
    params: types.CodeActionParams,
) -> list[types.CodeAction | types.Command] | None:
    """Return the actions for the range, of the requested kinds."""
    path = context.prompt_path(params.text_document.uri)
    template = context.snapshot.template(path) if path else None
    if path is None or template is None:
        return _beginnings(context, params) or _only_fixes(context, diagnostics, programs, params)
    only = _requested_kinds(params)
    found: list[types.CodeAction | types.Command] = []
    within = from_range(template.source, params.range, context.encoding)
    # Editors show a light bulb for every non-empty answer to an automatic request, so those get only fixes.
    by_itself = params.context.trigger_kind == types.CodeActionTriggerKind.Automatic
    if is_requested("quickfix", only):
        found += [
            _fix(context, path, template.source, fix, params.context.diagnostics)
            for fix in quick_fixes(diagnostics.findings(path), within)
        ]
    # "Fix all" is returned only if it is requested explicitly, as on saving, and not at every position.
    if only and is_requested(FIX_ALL, only):
        edits = fix_all_edits(context.snapshot, path, diagnostics.findings(path))
        if edits:
            edit = workspace_edit(context, path, edits)
            found.append(types.CodeAction("Fix all that can be fixed safely", FIX_ALL, edit=edit))
    if only or not by_itself:
        titles = {action.title for action in found}
        refactorings = refactor_actions(context, path, within, only)
        found += (action for action in refactorings if action.title not in titles)
    if not (by_itself and params.range.start.line > 0):
        found += _command_actions(context, runs, params.text_document.uri, path, within.start, only)
    return in_form(context, path, found)


def _requested_kinds(params: types.CodeActionParams) -> list[str]:
    return [str(getattr(kind, "value", kind)) for kind in params.context.only or ()]


def _beginnings(
    context: Context, params: types.CodeActionParams
) -> list[types.CodeAction | types.Command] | None:
    """Return actions that insert a starting prompt into an empty file; None if the file has text."""
    path = path_of(params.text_document.uri)
    template = context.snapshot.template(path)
    only = _requested_kinds(params)
    is_named = has_prompt_name(path) or not is_file(path)
    if template is None or not is_named or template.source.text.strip():
        return None
    if not is_requested(types.CodeActionKind.RefactorRewrite, only):
        return None
    whole = Span(0, len(template.source))
    found: list[types.CodeAction | types.Command] = [
        types.CodeAction(
            title,
            types.CodeActionKind.RefactorRewrite,
            edit=workspace_edit(context, path, (Edit(whole, text),)),
        )
        for title, text in beginnings(path)
    ]
    return in_form(context, path, found)


def _only_fixes(
    context: Context, diagnostics: Diagnostics, programs: ProgramFindings, params: types.CodeActionParams
) -> list[types.CodeAction | types.Command] | None:
    """Return the fixes in a program, or those that turn a near-prompt into a prompt."""
    path = path_of(params.text_document.uri)
    findings = programs.findings(path) if path.endswith(PROGRAM_ENDING) else diagnostics.findings(path)
    template = context.snapshot.template(path)
    only = _requested_kinds(params)
    if template is None or not is_requested("quickfix", only):
        return None
    within = from_range(template.source, params.range, context.encoding)
    found: list[types.CodeAction | types.Command] = [
        _fix(context, path, template.source, fix, params.context.diagnostics)
        for fix in quick_fixes(findings, within)
    ]
    return in_form(context, path, found) if found else None


def _fix(
    context: Context, path: str, source: Source, quick: QuickFix, diagnostics: Iterable[types.Diagnostic]
) -> types.CodeAction:
    return types.CodeAction(
        quick.fix.title,
        types.CodeActionKind.QuickFix,
        diagnostics=_answered(context, source, quick.finding, diagnostics) or None,
        is_preferred=(quick.fix.preferred and context.capabilities.preferred_actions) or None,
        edit=workspace_edit(context, path, quick.fix.edits),
    )


def _answered(
    context: Context, source: Source, finding: Finding, diagnostics: Iterable[types.Diagnostic]
) -> list[types.Diagnostic]:
    """Return the diagnostics in the request that correspond to the finding."""
    place = to_range(source, finding.span, context.encoding)
    return [each for each in diagnostics if each.code == finding.rule and each.range == place]


def _command_actions(
    context: Context, runs: LatestRuns, uri: str, path: str, offset: int, only: list[str]
) -> Iterator[types.CodeAction]:
    commands = actions(context.snapshot, path, experiment_names(context.snapshot, path))
    if commands and not context.capabilities.panels:  # a panel has a button
        from promptls.experiments.single_answer import default_model

        commands += (CommandAction(f"Ask {default_model(context.snapshot, path)}", "promptls.ask", {}),)
    own = ((RUN, action) for action in (*commands, *contract_actions(context.snapshot, path, offset)))
    known = run_actions(context.snapshot, path, offset, runs.latest(path))
    for kind, action in (*own, *((f"{RUN}.{kind}", action) for kind, action in known)):
        command = types.Command(action.title, action.command, arguments=[{"uri": uri, **action.arguments}])
        if not is_requested(kind, only):
            continue
        yield types.CodeAction(action.title, kind, command=command)


Action = types.CodeAction | types.Command
_APPLY: Final = "promptls.applyEdit"


def in_form(context: Context, path: str, actions: Iterable[Action]) -> list[Action]:
    """Return the actions, or equivalent commands for a client without code actions."""
    return list(
        actions if context.capabilities.code_action_literals else _as_commands(context, path, actions)
    )


def _as_commands(context: Context, path: str, actions: Iterable[Action]) -> Iterator[types.Command]:
    opened = context.snapshot.open_files.get(path)
    for action in actions:
        if isinstance(action, types.Command):
            yield action
        elif action.command is not None:
            yield action.command
        elif action.edit is not None and context.capabilities.applies_edits:
            arguments: dict[str, Any] = {
                "uri": context.uri_of(path),
                "version": opened.version if opened is not None else None,
                "label": action.title,
                "edit": get_converter().unstructure(action.edit, types.WorkspaceEdit),
            }
            yield types.Command(action.title, _APPLY, arguments=[arguments])


def refactor_actions(context: Context, path: str, span: Span, only: list[str]) -> Iterator[types.CodeAction]:
    """Yield the refactorings of these kinds; disabled ones, too, if the client supports them."""
    for name, offer in offers(context.snapshot, path, span):
        if not is_requested(offer.kind, only) or (
            offer.makes_files and not context.capabilities.creates_files
        ):
            continue
        if offer.reason:
            if context.capabilities.disabled_actions:
                disabled = types.CodeActionDisabled(offer.reason)
                yield types.CodeAction(offer.title, offer.kind, disabled=disabled)
            continue
        action = types.CodeAction(offer.title, offer.kind)
        if offer.preferred and context.capabilities.preferred_actions:
            action.is_preferred = True
        if context.capabilities.resolves_actions:
            action.data = _data(context, path, span, name)
        else:
            action.edit = _change_edit(context, path, offer.change())
        yield action


def is_requested(kind: str, only: list[str]) -> bool:
    """Return whether an action of this kind, or of a kind that contains it, is requested."""
    return not only or any(kind == requested or kind.startswith(f"{requested}.") for requested in only)


def code_action_resolve(context: Context, action: types.CodeAction) -> types.CodeAction:
    """Return the action with its edits; fail with ContentModified if the file has changed."""
    data = action.data
    if not isinstance(data, dict) or data.get("refactoring") not in REFACTORINGS:
        return action
    path, span = str(data["path"]), Span(int(data["start"]), int(data["end"]))
    place = place_at(context.snapshot, path, span)
    if place is None or data["version"] != _version(context, path):
        raise JsonRpcContentModified("the file has changed since the action was offered")
    offer = REFACTORINGS[data["refactoring"]](place)
    if offer is not None and not offer.reason:
        action.edit = _change_edit(context, path, offer.change())
    return action


def _data(context: Context, path: str, span: Span, name: str) -> dict[str, Any]:
    return {
        "refactoring": name,
        "path": path,
        "start": span.start,
        "end": span.end,
        "version": _version(context, path),
    }


def _version(context: Context, path: str) -> int | None:
    opened = context.snapshot.open_files.get(path)
    return opened.version if opened else None


def _change_edit(context: Context, path: str, change: Change) -> types.WorkspaceEdit:
    if not change.new_files:
        return workspace_edit(context, path, change.edits)
    made: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = []
    start = types.Range(types.Position(0, 0), types.Position(0, 0))
    for file, text in change.new_files.items():
        uri = context.uri_of(file)
        document = types.OptionalVersionedTextDocumentIdentifier(uri, None)
        made += [
            types.CreateFile(uri, options=types.CreateFileOptions(overwrite=False, ignore_if_exists=False)),
            types.TextDocumentEdit(document, [types.TextEdit(start, text)]),
        ]
    if change.edits:
        made.append(versioned_edit(context, path, text_edits(context, path, change.edits)))
    return types.WorkspaceEdit(document_changes=made)
