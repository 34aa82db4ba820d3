"""`promptls.showResults`: the view of a run, beside others; a report in a file where there is no panel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.protocol.client.shown_text import show_text
from promptls.protocol.commands.arguments import prompt_path
from promptls.text.arguments import optional

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def show_results(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The view of the run whose table `run` names, or of the last one of the prompt.

    It stands beside the run before, or those that `against` names, of which the first is what the others are
    compared with. With `quick`, it holds what is known without reading the tables. Of a prompt that has not
    been run yet, it says the `prompt` and its `name`, with no `runs`. Where the client has no panel,
    `document` is the report of the same runs.
    """
    from promptls.experiments.history import last_run

    named = optional(arguments, "run", str)
    path = prompt_path(session, arguments) if named is None else named
    asked = {**arguments, "path": path, "unsaved": session.snapshot.unsaved()}
    if session.flags.panels:
        if named is None and last_run(Path(path)) is None:
            return {"runs": [], "prompt": path, "name": Path(path).name}
        return await session.results.ask("view", asked)
    found = await session.results.ask("report", asked)
    return {
        "run": found["run"],
        "name": found["name"],
        "document": show_text(session, path, "results", found["html"], "html"),
    }
