"""Dynamic registrations: files to watch, and documents beside prompt files, if the client supports that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.workspace.settings import PYPROJECT_FILE, SETTINGS_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptls.server.context import Context


def files_like(*patterns: str) -> list[types.TextDocumentFilterPattern]:
    """Return a selector of the files on disk, in any folder, whose names are like one of the patterns."""
    return [types.TextDocumentFilterPattern(f"**/{pattern}", scheme="file") for pattern in patterns]


def register_all(context: Context) -> None:
    """Register everything, in the background."""
    context.start(_register_watched_files(context), "the registration of watched files")
    context.start(_register_settings_files(context), "the registration of settings files")
    context.start(_register_datasets(context), "the registration of datasets")
    context.start(_register_shared_names(context), "the registration of files that share names")


async def _register_documents(context: Context, name: str, methods: Iterable[tuple[str, Any]]) -> None:
    """Ask the client for each method with its options; `name` says what for, and is this server's own."""
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
"""Prompt files, settings, datasets with results, samples, functions and metrics, and what is included."""


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
    """Register hovers on datasets and in programs, if the client supports that.

    The texts of datasets are read from the disk.
    """
    if not context.capabilities.registers_documents:
        return
    selector = files_like(*(f"*{ending}" for ending in (*DATASET_ENDINGS, PROGRAM_ENDING)))
    options = types.HoverRegistrationOptions(document_selector=selector)
    await _register_documents(context, "datasets", [(types.TEXT_DOCUMENT_HOVER, options)])


_DATA: Final = ("csv", "jsonl", "ndjson", "json", "yml", "yaml")


async def _register_shared_names(context: Context) -> None:
    """Register renames, definitions and references that begin outside prompts, if the client supports that.

    Programs, data files and settings hold names that prompts know too; their unsaved texts count.
    """
    if not context.capabilities.registers_shared_names:
        return
    programs = files_like("*.py")
    data = files_like(*(f"*.{ending}" for ending in _DATA))
    settings = files_like(SETTINGS_FILE, PYPROJECT_FILE)
    texts, every = [*programs, *data], [*programs, *data, *settings]
    plain = types.TextDocumentRegistrationOptions(texts)
    changes = types.TextDocumentChangeRegistrationOptions(types.TextDocumentSyncKind.Incremental, texts)
    # A client asks for highlights with each step of the cursor: in programs others give them.
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
