"""The results of runs: their view, the requests of its page, and comparisons.

Long tables are read in a separate process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from promptls.results_view.results_client import ResultsProcess
from promptls.server.context import Context
from promptls.server.locations import prompt_path
from promptls.server.shown_text import show_text
from promptls.server.state.latest_runs import LatestRuns
from promptls.server.to_proto import path_of
from promptls.text.errors import optional
from promptls.text.escape import markdown_prose, markdown_text


async def show_results(
    context: Context, results: ResultsProcess, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Return the view of the run whose table is `run`, or of the prompt's last complete run, if any.

    It is shown beside the previous run, or the runs in `against`, the first of which is the baseline of the
    comparison. With `quick`, the view contains what is known without reading the tables. For a prompt without
    runs, it contains the `prompt` and its `name`, and no `runs`. If the client has no panel, `document` is
    the report of the same runs.
    """
    from promptls.experiments.history import last_run

    named = optional(arguments, "run", str)
    path = prompt_path(context, arguments) if named is None else named
    question = {**arguments, "path": path, "complete": True, "unsaved": context.snapshot.unsaved()}
    if context.capabilities.panels:
        if named is None and last_run(Path(path)) is None:
            return {"runs": [], "prompt": path, "name": Path(path).name}
        return await results.ask("view", question)
    found = await results.ask("report", question)
    return {
        "run": found["run"],
        "name": found["name"],
        "document": show_text(context, path, "results", found["html"], "html"),
    }


async def unfinished_results(
    results: ResultsProcess, runs: LatestRuns, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Return the unfinished `runs` that are not in progress in this session, and the `folder` they are in.

    The folder is that of the table `run`, or of the runs of the prompt `uri`.
    """
    uri = optional(arguments, "uri", str)
    path = {} if uri is None else {"path": path_of(uri)}
    return await results.ask("goingOn", {**arguments, **path, "own": runs.paths()})


async def compare_runs(
    context: Context, results: ResultsProcess, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Return the comparison in sentences, and the rows whose score changed.

    `runs` are the tables of two runs, or prompts for their latest complete runs, the older one first; by
    default, the last run over all rows of the prompt's experiment is compared with the previous one.
    """
    runs = optional(arguments, "runs", list)
    path = prompt_path(context, arguments) if runs is None else str((runs or [""])[0])
    question = {**arguments, "path": path, "unsaved": context.snapshot.unsaved()}
    result = await results.ask("compare", question)
    if not context.capabilities.panels:
        result["document"] = show_text(context, path, "comparison", comparison_markdown(result))
    return result


_COLUMNS: Final = ("id", "metric", "before", "after")


def comparison_markdown(result: dict[str, Any]) -> str:
    """Return a comparison of two runs as Markdown."""
    lines = [
        f"# {markdown_text(result['after']['name'])} against {markdown_text(result['before']['name'])}",
        "",
    ]
    lines += [f"- {markdown_prose(sentence)}" for sentence in result["sentences"]]
    if result["changes"]:
        lines += ["", "| Row | Metric | Before | After | |", "| --- | --- | --- | --- | --- |"]
        lines += [
            f"| {' | '.join(markdown_text(str(change[key])) for key in _COLUMNS)} "
            f"| {'better' if change['better'] else 'worse'} |"
            for change in result["changes"]
        ]
    return "\n".join(lines) + "\n"
