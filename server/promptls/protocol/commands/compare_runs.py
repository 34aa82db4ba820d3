"""`promptls.compareRuns`: the last run of an experiment, or one that is named, against another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptls.protocol.client.shown_text import show_text
from promptls.protocol.commands.arguments import prompt_path
from promptls.text.arguments import optional

if TYPE_CHECKING:
    from lsprotocol import types

    from promptls.protocol.session import Session


async def compare_runs(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The comparison in sentences, and the rows whose score changed.

    `runs` names the tables of two runs, the older one first; without it, the last run over all rows of the
    prompt's experiment is compared with the one before.
    """
    runs = optional(arguments, "runs", list)
    path = prompt_path(session, arguments) if runs is None else str((runs or [""])[0])
    asked = {**arguments, "path": path, "unsaved": session.snapshot.unsaved()}
    result = await session.results.ask("compare", asked)
    if not session.flags.panels:
        result["document"] = show_text(session, path, "comparison", _markdown(result))
    return result


def _markdown(result: dict[str, Any]) -> str:
    lines = [f"# {result['after']['name']} against {result['before']['name']}", ""]
    lines += [f"- {sentence}" for sentence in result["sentences"]]
    if result["changes"]:
        lines += ["", "| Row | Metric | Before | After | |", "| --- | --- | --- | --- | --- |"]
        lines += [
            f"| {change['id']} | {change['metric']} | {change['before']} | {change['after']} "
            f"| {'better' if change['better'] else 'worse'} |"
            for change in result["changes"]
        ]
    return "\n".join(lines) + "\n"
