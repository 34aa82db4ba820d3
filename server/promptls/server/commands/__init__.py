"""The commands of `workspace/executeCommand`, and the functions that run them.

A command receives one object of arguments, and the token for its progress. Modules are imported on first
use, as in `features.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from promptls.server.json_rpc import decoded, encoded
from promptls.text.errors import UsageError, UserError
from promptls.text.escape import for_message
from promptls.text.suggest import did_you_mean

if TYPE_CHECKING:
    from promptls.server.session import Session


Arguments = dict[str, Any]
Token = int | str | None
Command = Callable[["Session", Arguments, Token], Awaitable[Any]]

COMMANDS: Final[dict[str, Command]] = {}
"""The commands by name."""


def command(name: str) -> Callable[[Command], Command]:
    """Register the decorated function as the command `name`."""

    def register(function: Command) -> Command:
        COMMANDS[f"promptls.{name}"] = function
        return function

    return register


@command("newPrompt")
async def _new_prompt(_session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.prompts import new_prompt

    return await new_prompt(arguments)


@command("contract")
async def _contract(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.prompts import contract

    return await contract(session.context, arguments)


@command("check")
async def _check_files(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.prompts import check_files

    return await check_files(session.context, session.diagnostics, session.renderings, arguments)


@command("applyEdit")
async def _apply_edit(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.prompts import apply_edit

    return await apply_edit(session.context, arguments)


@command("debugInformation")
async def _debug_information(session: Session, _arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.prompts import debug_information

    return await debug_information(session.context)


@command("preview")
async def _preview(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.preview import preview

    return await preview(session.context, session.renderings, session.trust, arguments)


@command("previewTemplate")
async def _preview_template(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.preview import preview_template

    return await preview_template(session.context, session.renderings, session.auxiliary, arguments)


@command("previewTokens")
async def _preview_tokens(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.preview import preview_tokens

    return await preview_tokens(session.context, session.renderings, arguments)


@command("previewRows")
async def _preview_rows(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.preview import preview_rows

    return await preview_rows(session.context, arguments)


@command("previewCommitted")
async def _preview_committed(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.preview import preview_committed

    return await preview_committed(session.context, session.renderings, arguments)


@command("ask")
async def _ask(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.asking import ask

    return await ask(session.context, session.renderings, session.trust, arguments)


@command("previewAnswers")
async def _preview_answers(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.asking import preview_answers

    return await preview_answers(session.context, session.renderings, arguments)


@command("saveData")
async def _save_data(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.asking import save_data

    return await save_data(session.context, arguments)


@command("applyTruncation")
async def _apply_truncation(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.asking import apply_truncation

    return await apply_truncation(session.context, arguments)


@command("tokens")
async def _tokens(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.preview import tokens

    return await tokens(session.context, session.renderings, session.trust, arguments)


@command("truncationLab")
async def _truncation_lab(session: Session, arguments: Arguments, token: Token) -> Any:
    from promptls.server.commands.preview import truncation_lab

    return await truncation_lab(session.context, session.trust, arguments, token)


@command("runExperiment")
async def _run_experiment(session: Session, arguments: Arguments, token: Token) -> Any:
    from promptls.server.commands.runs import run_experiment

    return await run_experiment(session.context, session.runs, session.trust, arguments, token)


@command("planExperiment")
async def _plan_experiment(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.runs import plan_experiment

    return await plan_experiment(session.context, session.trust, arguments)


@command("leaveOneOut")
async def _leave_one_out(session: Session, arguments: Arguments, token: Token) -> Any:
    from promptls.server.commands.runs import leave_one_out

    return await leave_one_out(session.context, session.runs, session.trust, arguments, token)


@command("cancelRun")
async def _cancel_run(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.runs import cancel_run

    return await cancel_run(session.context, session.runs, arguments)


@command("keyVariables")
async def _key_variables(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.generate_dataset import key_variables

    return await key_variables(session.context, session.trust, arguments)


@command("generateDataset")
async def _generate_dataset(session: Session, arguments: Arguments, token: Token) -> Any:
    from promptls.server.commands.generate_dataset import generate_dataset

    return await generate_dataset(session.context, session.trust, arguments, token)


@command("experimentTests")
async def _experiment_tests(session: Session, arguments: Arguments, token: Token) -> Any:
    from promptls.server.commands.runs import experiment_tests

    return await experiment_tests(session.context, session.scan, arguments, token)


@command("listRuns")
async def _list_runs(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.runs import list_runs

    return await list_runs(session.context, arguments)


@command("experimentRows")
async def _experiment_rows(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.runs import experiment_rows

    return await experiment_rows(session.context, arguments)


@command("rowVerdicts")
async def _row_verdicts(_session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.runs import row_verdicts

    return await row_verdicts(arguments)


@command("showResults")
async def _show_results(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.results import show_results

    return await show_results(session.context, session.results, arguments)


@command("compareRuns")
async def _compare_runs(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.results import compare_runs

    return await compare_runs(session.context, session.results, arguments)


@command("resultsGoingOn")
async def _unfinished_results(session: Session, arguments: Arguments, _token: Token) -> Any:
    from promptls.server.commands.results import unfinished_results

    return await unfinished_results(session.results, session.runs, arguments)


def _question_about_results(name: str, question: str) -> None:
    """Register a command that forwards its arguments to the process that reads tables of results."""

    @command(name)
    async def answer(session: Session, arguments: Arguments, _token: Token) -> Any:
        return await session.results.ask(question, arguments)


_question_about_results("resultsRows", "rows")
_question_about_results("resultsText", "text")
_question_about_results("resultsPairs", "pairs")
_question_about_results("resultsMessages", "messages")
_question_about_results("resultsNote", "note")
_question_about_results("resultsNumbers", "numbers")
_question_about_results("exportResults", "export")


log = logging.getLogger(__name__)


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
        raise JsonRpcInvalidParams(_sentence(failure)) from None
    except UserError as failure:
        raise JsonRpcException(_sentence(failure), types.LSPErrorCodes.RequestFailed.value) from None
    except JsonRpcException:
        raise
    except Exception as error:
        log.exception("%s failed", params.command)
        message = (
            f"`{params.command}` failed unexpectedly ({type(error).__name__}); the server's log says more"
        )
        raise JsonRpcException(message, types.LSPErrorCodes.RequestFailed.value) from None
    result = decoded(encoded(result))  # JSON has no NaN: it becomes null
    # Clients show the `sentence` of a result like a message, so it is escaped like one.
    if isinstance(result, dict) and isinstance(result.get("message"), str):
        result["message"] = for_message(result["message"])
    return result


def _sentence(failure: UserError) -> str:
    """Return the failure as one text: the problem, its remedy, then its location.

    Notifications may cut off the end of a text, so the long path comes last.
    """
    place = f" ({failure.place.text()})" if failure.place else ""
    remedy = f"; {failure.remedy}" if failure.remedy else ""
    return f"{failure.message}{remedy}{place}"
