"""The start of a session: settings, dynamic registrations, and changes of its folders."""

from __future__ import annotations

import asyncio
import gc
import logging
import pkgutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from lsprotocol import types

from promptls.server.context import Context
from promptls.server.folder_trust import Trust
from promptls.server.open_documents import Documents
from promptls.server.shown_text import remove_leftovers
from promptls.server.state.scan import WorkspaceScan
from promptls.server.to_proto import path_of
from promptls.workspace.settings import PYPROJECT_FILE, SETTINGS_FILE

log = logging.getLogger(__name__)


_SETTINGS_SECONDS: Final = 2.0
"""How long messages wait for a client that does not send its settings."""
_SCAN_SECONDS: Final = 0.3
"""How long messages wait for the scan of the workspace."""
_FIRST_MODULES: Final = ("promptls.lint.registry", "promptls.lint.runner")
"""What the first diagnostics need."""
_LATER_MODULES: Final = ("promptls.server.state.latest_renderings", "promptls.ide.experiment_runs")
"""What the first pause in typing needs."""
_HANDLER_PACKAGES: Final = ("requests", "commands")
_LOADING_PAUSE: Final = 0.02
"""The pause before each of the later modules, so that a file that is opened meanwhile is checked first."""


async def initialized(context: Context, scan: WorkspaceScan) -> None:
    """Wait for the settings of the client and for the includes in the workspace, but not for long.

    Until then the protocol defers all other messages.
    """
    context.start(_preload(), "loading what requests will need")
    context.start(asyncio.to_thread(remove_leftovers), "the removal of old files")
    settings = context.start(fetch_settings(context), "the settings")
    await asyncio.wait([settings], timeout=_SETTINGS_SECONDS)
    await asyncio.wait([scan.start()], timeout=_SCAN_SECONDS)  # `include` of the settings may add files
    register_all(context)


def did_change_workspace_folders(
    context: Context, trust: Trust, scan: WorkspaceScan, params: types.DidChangeWorkspaceFoldersParams
) -> None:
    """Apply changes of the folders that the client has open."""
    removed = {path_of(folder.uri) for folder in params.event.removed}
    roots = [root for root in context.snapshot.roots if root not in removed]
    added = [path_of(folder.uri) for folder in params.event.added]
    context.workspace.set_roots(map(Path, dict.fromkeys([*roots, *added])))
    trust.refresh()
    scan.start()


async def _preload() -> None:
    """Import the rules, then all handlers, one module at a time, so that messages are handled in between.

    `initialize` is answered before any of it is imported. Clients take a while before they open a file.
    """
    handlers = [name for package in _HANDLER_PACKAGES for name in _modules_in(package)]
    try:
        for name in _FIRST_MODULES:
            await asyncio.sleep(0)
            import_module(name)
        for name in (*_LATER_MODULES, *handlers):
            await asyncio.sleep(_LOADING_PAUSE)
            import_module(name)
        gc.freeze()  # loaded modules stay, so garbage collection can skip their objects
        # Parsed files consist of many small, long-lived objects. A search through all of them takes a tenth
        # of a second, and by default happens every few keystrokes. With these thresholds, only young objects
        # are searched, at most 40,000 at a time; `free_garbage` searches others in long pauses.
        gc.set_threshold(20_000, 1, 10_000)
    except ImportError:
        log.exception("a part of the server cannot be loaded")


SECTION: Final = "promptls"


def _modules_in(package: str) -> list[str]:
    folder = Path(__file__).parent / package
    return [f"promptls.server.{package}.{module.name}" for module in pkgutil.iter_modules([str(folder)])]


async def fetch_settings(context: Context) -> None:
    """Request the settings of the client, if it supports that, and apply them."""
    if not context.capabilities.configuration:
        return
    items = [types.ConfigurationItem(section=SECTION)]
    try:
        answer = await context.server.workspace_configuration_async(types.ConfigurationParams(items))
    except Exception:
        log.exception("the client did not send its settings; the former ones hold")
        return
    apply_settings(context, answer[0] if answer else None)


def apply_settings(context: Context, settings: Any) -> None:
    """Apply the settings of a client; unset ones are left to the project."""
    given = _without_unset(settings)
    context.workspace.set_editor_settings(given if isinstance(given, dict) and given else None)


async def did_change_configuration(
    context: Context, documents: Documents, params: types.DidChangeConfigurationParams
) -> None:
    """Apply the current settings, whether the client sends them or they must be requested."""
    if context.capabilities.configuration:
        await fetch_settings(context)
    else:
        settings = params.settings
        apply_settings(context, settings.get(SECTION) if isinstance(settings, dict) else None)
    documents.on_did_change_settings()


def _without_unset(value: Any) -> Any:
    """Return the value without nulls, which VS Code sends for unset settings."""
    if isinstance(value, dict):
        return {key: _without_unset(its) for key, its in value.items() if its is not None}
    return value


def files_like(*patterns: str) -> list[types.TextDocumentFilterPattern]:
    """Return a selector of the files on disk, in any folder, whose names match one of the patterns."""
    return [types.TextDocumentFilterPattern(f"**/{pattern}", scheme="file") for pattern in patterns]


def register_all(context: Context) -> None:
    """Register everything, in the background."""
    context.start(_register_watched_files(context), "the registration of watched files")
    context.start(_register_settings_files(context), "the registration of settings files")
    context.start(_register_datasets(context), "the registration of datasets")
    context.start(_register_shared_names(context), "the registration of files that share names")


async def _register_documents(context: Context, name: str, methods: Iterable[tuple[str, Any]]) -> None:
    """Register each method with its options at the client; `name` distinguishes the registrations."""
    registrations = [
        types.Registration(f"promptls.{name}.{method}", method, given) for method, given in methods
    ]
    await context.server.client_register_capability_async(types.RegistrationParams(registrations))


GLOBS: Final = (
    "**/*.{yml,yaml}.j2",
    f"**/{SETTINGS_FILE}",
    f"**/{PYPROJECT_FILE}",
    "**/*.{csv,jsonl,json,parquet,yml,yaml,py}",
    "**/*.{j2,jinja,jinja2,txt,md}",
)
"""Prompt files, settings, datasets with results, samples, functions, metrics and includes."""


async def _register_watched_files(context: Context) -> None:
    """Register watched files and changes of settings, if the client supports that."""
    if context.capabilities.watches_files:
        watchers = [types.FileSystemWatcher(glob_pattern=glob) for glob in GLOBS]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        registration = types.Registration("promptls.files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        await context.server.client_register_capability_async(types.RegistrationParams([registration]))
    if context.capabilities.registers_configuration:
        registration = types.Registration(
            "promptls.settings",
            types.WORKSPACE_DID_CHANGE_CONFIGURATION,
            types.DidChangeConfigurationRegistrationOptions(section="promptls"),
        )
        await context.server.client_register_capability_async(types.RegistrationParams([registration]))


_TRIGGERS: Final = ['"', "'", ".", "["]


async def _register_settings_files(context: Context) -> None:
    """Register completion and hover in settings files, if the client supports that.

    Everything else in these files is left to the servers of their language.
    """
    if not context.capabilities.registers_documents:
        return
    selector = files_like(SETTINGS_FILE, PYPROJECT_FILE)
    changes = types.TextDocumentChangeRegistrationOptions(types.TextDocumentSyncKind.Incremental, selector)
    completion = types.CompletionRegistrationOptions(
        document_selector=selector,
        trigger_characters=_TRIGGERS,
        resolve_provider=True,
        completion_item=types.ServerCompletionItemOptions(label_details_support=True),
    )
    plain = types.TextDocumentRegistrationOptions(selector)
    methods = (
        (types.TEXT_DOCUMENT_DID_OPEN, plain),
        (types.TEXT_DOCUMENT_DID_CHANGE, changes),
        (types.TEXT_DOCUMENT_DID_CLOSE, plain),
        (types.TEXT_DOCUMENT_COMPLETION, completion),
        (types.TEXT_DOCUMENT_HOVER, types.HoverRegistrationOptions(document_selector=selector)),
    )
    await _register_documents(context, "settings", methods)


DATASET_ENDINGS: Final = (".csv", ".tsv", ".jsonl", ".json")
PROGRAM_ENDING: Final = ".py"


async def _register_datasets(context: Context) -> None:
    """Register hovers on datasets, and hovers, fixes and lenses in programs, if the client supports that.

    Datasets are read from disk, not from the editor.
    """
    if not context.capabilities.registers_documents:
        return
    programs = files_like(f"*{PROGRAM_ENDING}")
    selector = [*files_like(*(f"*{ending}" for ending in DATASET_ENDINGS)), *programs]
    fixes = types.CodeActionRegistrationOptions(
        document_selector=programs, code_action_kinds=[types.CodeActionKind.QuickFix]
    )
    methods = (
        (types.TEXT_DOCUMENT_HOVER, types.HoverRegistrationOptions(document_selector=selector)),
        (types.TEXT_DOCUMENT_CODE_ACTION, fixes),
        (types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensRegistrationOptions(document_selector=programs)),
    )
    await _register_documents(context, "datasets", methods)


_DATA: Final = ("csv", "jsonl", "ndjson", "json", "yml", "yaml")


async def _register_shared_names(context: Context) -> None:
    """Register renames, definitions and references that begin outside prompts, if the client supports that.

    Programs, data files and settings share names with prompts; their unsaved texts are taken into account.
    """
    if not context.capabilities.registers_shared_names:
        return
    programs = files_like("*.py")
    data = files_like(*(f"*.{ending}" for ending in _DATA))
    settings = files_like(SETTINGS_FILE, PYPROJECT_FILE)
    texts, every = [*programs, *data], [*programs, *data, *settings]
    plain = types.TextDocumentRegistrationOptions(texts)
    changes = types.TextDocumentChangeRegistrationOptions(types.TextDocumentSyncKind.Incremental, texts)
    # Clients request highlights at each cursor movement; in programs, other servers provide them.
    highlights = types.DocumentHighlightRegistrationOptions([*data, *settings])
    methods = (
        (types.TEXT_DOCUMENT_DID_OPEN, plain),
        (types.TEXT_DOCUMENT_DID_CHANGE, changes),
        (types.TEXT_DOCUMENT_DID_CLOSE, plain),
        (types.TEXT_DOCUMENT_DEFINITION, types.DefinitionRegistrationOptions(every)),
        (types.TEXT_DOCUMENT_REFERENCES, types.ReferenceRegistrationOptions(every)),
        (types.TEXT_DOCUMENT_RENAME, types.RenameRegistrationOptions(every, prepare_provider=True)),
        (types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, highlights),
    )
    await _register_documents(context, "names", methods)
