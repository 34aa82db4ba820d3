"""The commands of `workspace/executeCommand`, and the functions that run them.

A command receives one object of arguments, and the token for its progress. Modules are imported on first
use, as in `features.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from promptls.server.json_rpc import decode_body, encode_message
from promptls.text.errors import FilePlace, UsageError, UserError, refused_by_system
from promptls.text.escape import for_message
from promptls.text.suggest import did_you_mean

log = logging.getLogger(__name__)

Arguments = dict[str, Any]
Token = int | str | None
Command = Callable[["Session", Arguments, Token], Awaitable[Any]]


class LazyModule:
    """A module of the server that is imported when one of its attributes is read."""

    def __init__(self, name: str) -> None:
        self._name: Final = f"promptls.server.{name}"

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    from promptls.server.commands import generate_dataset, model_questions, preview, prompts, results, runs
    from promptls.server.session import Session
else:
    model_questions = LazyModule("commands.model_questions")
    generate_dataset = LazyModule("commands.generate_dataset")
    preview = LazyModule("commands.preview")
    prompts = LazyModule("commands.prompts")
    results = LazyModule("commands.results")
    runs = LazyModule("commands.runs")


def _question(name: str) -> Command:
    """Return a command that forwards its arguments to the process that reads tables of results."""
    return lambda s, arguments, _: s.results.ask(name, arguments)


COMMANDS: Final[dict[str, Command]] = {
    "promptls.newPrompt": lambda _s, arguments, _: prompts.new_prompt(arguments),
    "promptls.contract": lambda s, arguments, _: prompts.contract(s.context, arguments),
    "promptls.check": lambda s, arguments, _: prompts.check_files(
        s.context, s.diagnostics, s.renderings, arguments
    ),
    "promptls.applyEdit": lambda s, arguments, _: prompts.apply_edit(s.context, arguments),
    "promptls.debugInformation": lambda s, _, _token: prompts.debug_information(s.context),
    "promptls.preview": lambda s, arguments, _: preview.preview(s.context, s.renderings, s.trust, arguments),
    "promptls.previewTemplate": lambda s, arguments, _: preview.preview_template(
        s.context, s.renderings, s.auxiliary, arguments
    ),
    "promptls.previewConfiguration": lambda s, arguments, _: preview.preview_configuration(
        s.context, s.renderings, s.auxiliary, arguments
    ),
    "promptls.previewTokens": lambda s, arguments, _: preview.preview_tokens(
        s.context, s.renderings, arguments
    ),
    "promptls.previewRows": lambda s, arguments, _: preview.preview_rows(s.context, arguments),
    "promptls.previewCommitted": lambda s, arguments, _: preview.preview_committed(
        s.context, s.renderings, arguments
    ),
    "promptls.ask": lambda s, arguments, token: model_questions.ask(
        s.context, s.renderings, s.trust, arguments, token
    ),
    "promptls.previewAnswers": lambda s, arguments, _: model_questions.preview_answers(
        s.context, s.renderings, arguments
    ),
    "promptls.saveData": lambda s, arguments, _: model_questions.save_data(s.context, arguments),
    "promptls.applyTruncation": lambda s, arguments, _: model_questions.apply_truncation(
        s.context, arguments
    ),
    "promptls.tokens": lambda s, arguments, _: preview.tokens(s.context, s.renderings, s.trust, arguments),
    "promptls.truncationLab": lambda s, arguments, token: preview.truncation_lab(
        s.context, s.trust, arguments, token
    ),
    "promptls.runExperiment": lambda s, arguments, token: runs.run_experiment(
        s.context, s.runs, s.trust, arguments, token
    ),
    "promptls.planExperiment": lambda s, arguments, _: runs.plan_experiment(s.context, s.trust, arguments),
    "promptls.leaveOneOut": lambda s, arguments, token: runs.leave_one_out(
        s.context, s.runs, s.trust, arguments, token
    ),
    "promptls.cancelRun": lambda s, arguments, _: runs.cancel_run(s.context, s.runs, arguments),
    "promptls.keyVariables": lambda s, arguments, _: generate_dataset.key_variables(
        s.context, s.trust, arguments
    ),
    "promptls.generateDataset": lambda s, arguments, token: generate_dataset.generate_dataset(
        s.context, s.trust, arguments, token
    ),
    "promptls.experimentTests": lambda s, arguments, token: runs.experiment_tests(
        s.context, s.scan, arguments, token
    ),
    "promptls.listRuns": lambda s, arguments, _: runs.list_runs(s.context, arguments),
    "promptls.experimentRows": lambda s, arguments, _: runs.experiment_rows(s.context, arguments),
    "promptls.rowVerdicts": lambda _s, arguments, _: runs.row_verdicts(arguments),
    "promptls.showResults": lambda s, arguments, _: results.show_results(s.context, s.results, arguments),
    "promptls.compareRuns": lambda s, arguments, _: results.compare_runs(s.context, s.results, arguments),
    "promptls.resultsGoingOn": lambda s, arguments, _: results.unfinished_results(
        s.results, s.runs, arguments
    ),
    "promptls.resultsRows": _question("rows"),
    "promptls.resultsText": _question("text"),
    "promptls.resultsPairs": _question("pairs"),
    "promptls.resultsMessages": _question("messages"),
    "promptls.resultsNote": _question("note"),
    "promptls.resultsNumbers": _question("numbers"),
    "promptls.exportResults": _question("export"),
}
"""The commands by name; `s` is the session of the client."""


async def execute(session: Session, params: types.ExecuteCommandParams) -> Any:
    """Run a command and return its result; raise JsonRpcException with a message for the user on failure."""
    function = COMMANDS.get(params.command)
    if function is None:
        raise JsonRpcInvalidParams(
            f"there is no command `{params.command}`{did_you_mean(params.command, COMMANDS)}"
        )
    arguments = params.arguments[0] if params.arguments else {}
    if not isinstance(arguments, dict):
        raise JsonRpcInvalidParams(f'`{params.command}` takes one object, such as {{"uri": …}}')
    try:
        result = await function(session, arguments, params.work_done_token)
    except UsageError as failure:
        raise JsonRpcInvalidParams(_sentence(failure, session)) from None
    except UserError as failure:
        raise JsonRpcException(_sentence(failure, session), types.LSPErrorCodes.RequestFailed.value) from None
    except OSError as error:
        log.warning("%s failed", params.command, exc_info=True)
        message = _sentence(refused_by_system(error), session)
        raise JsonRpcException(message, types.LSPErrorCodes.RequestFailed.value) from None
    except JsonRpcException:
        raise
    except Exception as error:
        log.exception("%s failed", params.command)
        message = f"`{params.command}` failed unexpectedly ({type(error).__name__}); see the server's log"
        raise JsonRpcException(message, types.LSPErrorCodes.RequestFailed.value) from None
    result = decode_body(encode_message(result))  # JSON has no NaN: it becomes null
    # Clients show the `sentence` of a result like a message, so it is escaped like one.
    if isinstance(result, dict) and isinstance(result.get("message"), str):
        result["message"] = for_message(result["message"])
    return result


def _sentence(failure: UserError, session: Session) -> str:
    """Return the failure as one text: the problem, its remedy, then its location.

    Notifications may cut off the end of a text, so the path comes last.
    """
    place = f" ({_in_workspace(failure.place, session).text()})" if failure.place else ""
    remedy = f"; {failure.remedy}" if failure.remedy else ""
    return f"{failure.message}{remedy}{place}"


def _in_workspace(place: FilePlace, session: Session) -> FilePlace:
    """Return the place with its path from the folder of the workspace; after its name if there are others."""
    roots = session.context.snapshot.roots
    path = Path(place.path)
    root = next((Path(each) for each in roots if path.is_relative_to(each)), None)
    if root is None:
        return place
    return place._replace(path=path.relative_to(root if len(roots) == 1 else root.parent))
