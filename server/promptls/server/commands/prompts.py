"""Commands for prompt files other than rendering and running, and information about the server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from lsprotocol.converters import get_converter

from promptls import __version__
from promptls.ide import new_prompt as beginning
from promptls.lint.rule import Finding
from promptls.models.providers import TABLE
from promptls.security.processes import minimal_environment
from promptls.server import command_types
from promptls.server.context import Context
from promptls.server.diagnostics import Diagnostics
from promptls.server.locations import prompt_path
from promptls.server.shown_text import show_text
from promptls.server.state.latest_renderings import Renderings
from promptls.server.to_proto import path_of, range_json
from promptls.text.errors import UsageError, UserError, optional
from promptls.text.suggest import did_you_mean
from promptls.workspace.contract import InputPlace, inputs_of
from promptls.workspace.disk import prompt_paths


async def check_files(
    context: Context, diagnostics: Diagnostics, renderings: Renderings, arguments: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return one object per finding: the file, the range in the client's units, the rule and the message."""
    if arguments.get("uri") is not None:
        return await _diagnostics_of(context, diagnostics, renderings, prompt_path(context, arguments))
    found = []
    for root in context.snapshot.roots:
        for path in prompt_paths(Path(root)):
            found += await _diagnostics_of(context, diagnostics, renderings, path)
            await asyncio.sleep(0)  # lets other requests be handled between two files
    return found


async def _diagnostics_of(
    context: Context, diagnostics: Diagnostics, renderings: Renderings, path: str
) -> list[dict[str, Any]]:
    uri = context.uri_of(path)
    rendered = await _of_rendering(context, renderings, path)
    return [{"uri": uri, "path": path, **found} for found in diagnostics.current(path, rendered)]


async def _of_rendering(context: Context, renderings: Renderings, path: str) -> tuple[Finding, ...] | None:
    """Render a file that is not open, and return the findings of the rendering.

    Return None for an open file, whose findings are already known.
    """
    from promptls.lint.runner import check_rendering, needs_rendering

    snapshot = context.snapshot
    if path in snapshot.open_files:
        await renderings.first(path)
        return None
    if not needs_rendering(snapshot, path):
        return ()
    return check_rendering(snapshot, path, await renderings.once(snapshot, path))


_ENDINGS: Final = {"json-schema": "json", "pydantic": "py", "typeddict": "py"}


async def contract(context: Context, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs, with their text in `format` if that is set; `show` opens the text in the client."""
    path = prompt_path(context, arguments)
    form = optional(arguments, "format", str)
    result: dict[str, Any] = {"inputs": _inputs(context, path)}
    if form is not None:
        from promptls.ide.contract_formats import FORMATS, contract_text

        if form not in FORMATS:
            raise UsageError(
                f"there is no form `{form}`{did_you_mean(form, FORMATS)}",
                remedy=f"choose one of: {', '.join(FORMATS)}",
            )
        result["text"] = contract_text(context.snapshot, path, form)
        if optional(arguments, "show", bool):
            result["document"] = show_text(context, path, "inputs", result["text"], _ENDINGS[form])
    return result


def _inputs(context: Context, path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "type": each.shape.description,
            "optional": each.shape.optional,
            "declared": None if each.declared is None else _contract_location(context, each.declared),
            "read": [_contract_location(context, place) for place in each.places],
        }
        for each in inputs_of(context.snapshot, path)
    ]


def _contract_location(context: Context, place: InputPlace) -> dict[str, Any]:
    template = context.snapshot.template(place.path)
    assert template is not None
    return {
        "uri": context.uri_of(place.path),
        "range": range_json(template.source, place.span, context.encoding),
    }


async def new_prompt(arguments: dict[str, Any]) -> command_types.NewPromptResult:
    """Return the texts of the files by their paths from the prompt's folder, the prompt's own first.

    `prompt` is its name, `kind` one of `parts`, `object` and `evaluation`, and `beside` the files created
    beside it: `sample`, `dataset`, `experiment`.
    """
    name = optional(arguments, "prompt", str)
    if not name:
        raise UsageError("the command needs the name of the prompt", remedy='pass {"prompt": "<name>"}')
    kind_name = optional(arguments, "kind", str) or "parts"
    kind = next((each for each in beginning.KINDS if each == kind_name), None)
    if kind is None:
        raise UsageError(
            f"there is no kind `{kind_name}`", remedy=f"it is one of {', '.join(beginning.KINDS)}"
        )
    named = optional(arguments, "beside", list) or []
    beside = [each for each in beginning.BESIDE if each in named]
    return {"files": beginning.new_prompt(name, kind, beside)}


async def apply_edit(context: Context, arguments: dict[str, Any]) -> dict[str, Any]:
    """Have the client apply edits; raises `UsageError` if the text has changed since they were computed."""
    uri, edit = optional(arguments, "uri", str), optional(arguments, "edit", dict)
    if uri is None or edit is None:
        raise UsageError("the arguments `uri` and `edit` say what is to be changed")
    opened = context.snapshot.open_files.get(path_of(uri))
    if (opened.version if opened is not None else None) != arguments.get("version"):
        raise UsageError(
            "the file has changed since the action was offered", remedy="ask for the actions again"
        )
    changes = get_converter().structure(edit, types.WorkspaceEdit)
    label = optional(arguments, "label", str)
    answer = await context.server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(changes, label))
    return {"applied": answer.applied, "message": answer.failure_reason or ""}


# The doctor runs in its own process: it loads every vocabulary, which would stay in the memory of the server,
# and reads the settings of its working directory, from which Python must not import anything.
_DOCTOR: Final = (
    "import sys; sys.path[:] = [folder for folder in sys.path if folder]; "
    "from promptls.cli.main import main; sys.exit(main(['doctor', '--json']))"
)


def _environment() -> dict[str, str]:
    """Return the environment for the doctor, which shows whether keys are set but not their values."""
    addresses = [each.base_url_env for each in TABLE.values() if each.base_url_env is not None]
    return {**dict.fromkeys(os.environ, "set"), **minimal_environment(addresses)}


async def debug_information(context: Context) -> dict[str, Any]:
    """Return the doctor's checks as JSON, and information about the session; secrets are never included."""
    folder = context.snapshot.roots[0] if context.snapshot.roots else str(Path.home())
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _DOCTOR,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    output, errors = await process.communicate()
    try:
        checks = json.loads(output)
    except ValueError:
        said = errors.decode(errors="replace").strip().splitlines()
        raise UserError(f"`promptls doctor` failed: {said[-1] if said else 'it said nothing'}") from None
    return {
        "version": __version__,
        "client": {
            name: sorted(value) if isinstance(value, frozenset) else value
            for name, value in asdict(context.capabilities).items()
        },
        "encoding": context.encoding.value,
        "trusted": context.snapshot.trusted,
        "folders": list(context.snapshot.roots),
        "openFiles": len(context.snapshot.open_files),
        "checks": checks,
    }
