"""`promptls.leaveOneOut`: which few-shot example of a prompt earns its tokens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.protocol.client.shown_text import show_text
from promptls.protocol.commands.followed_run import followed_run, title_of
from promptls.protocol.commands.run_request import run_request

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def leave_one_out(
    session: Session, arguments: dict[str, Any], token: types.ProgressToken | None
) -> dict[str, Any]:
    """The report, with a sentence and a page that is opened; its words then stand at the examples.

    Raises Failure where the run cannot begin, or breaks off.
    """
    request = replace(run_request(session, arguments), leave_one_out=True)
    finished, cancelled = await followed_run(
        session, request, token, f"Leaving out the examples of {title_of(session, request)}"
    )
    if finished is None:
        return cancelled
    report = dict(finished.manifest)
    earning = sum(each["verdict"] == "earns its tokens" for each in report["examples"])
    session.refresh_inlay_hints()
    document = show_text(session, request.prompt, "examples", _markdown(report))
    message = f"{earning} of {len(report['examples'])} examples can be shown to earn their tokens."
    return {**report, "cancelled": False, "document": document, "message": message}


def _markdown(report: dict[str, Any]) -> str:
    scores = ", ".join(f"{each['name']} {each['text']}" for each in report["metrics"]) or "no metric"
    models = " and ".join(report["models"])
    lines = [
        f"# Examples of {Path(report['prompt']).name}",
        "",
        f"Experiment {report['experiment']}, {report['rows']} rows, {models}. With all examples: {scores}.",
        "",
        "| Example | Shown in | Tokens | Verdict |",
        "| --- | ---: | ---: | --- |",
    ]
    lines += [
        f"| {each['number']}: {_cell(each['label'])} | {each['shown']} of {report['rows']} "
        f"| {each['tokens']:.0f} | {each['verdict']} |"
        for each in report["examples"]
    ]
    lines += ["", *(f"- Example {each['number']} {each['words']}." for each in report["examples"])]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
