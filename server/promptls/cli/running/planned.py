"""The plan that `promptls run` prints before a run, with its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptls.cli.output.terminal import paint, printed_path
from promptls.cli.running.keys import sent_lines
from promptls.text.format import in_dollars, plural

if TYPE_CHECKING:
    from promptls.experiments.experiment import Experiment
    from promptls.experiments.prepare import Prepared
    from promptls.experiments.run_protocol import Planned
    from promptls.models.model import ModelReference


def heading(prepared: Prepared) -> str:
    """Return what a run will do, call and cost, and what stands in its way; several lines."""
    plan, continued, planned = prepared
    experiment = plan.experiment
    models = " and ".join(model.name for model in experiment.models)
    if experiment.engine == "ray":
        models += " on Ray"
    rows = plural(plan.rows, "row")
    chosen = f" ({plan.choice.text})" if plan.choice.expression else ""
    lines = [
        f"{paint(printed_path(experiment.prompt), 'bold')}: experiment `{experiment.name}`",
        f"{rows} of {printed_path(plan.dataset.path)}{chosen}, {models}: {_calls(planned)}",
    ]
    lines += sent_lines(planned.sends, planned.environment)
    if planned.changed is not None:
        lines.append(
            paint(f"{planned.changed} of {planned.rows} rendered prompts differ from {planned.before}", "dim")
        )
    if (run := continued.resumed) is not None:
        lines.append(paint(f"{run.count:,} of {plan.results:,} results are there already", "dim"))
    if planned.unsure is not None:
        lines.append(paint(planned.unsure, "yellow"))
    if planned.calls and any(_may_be_long(experiment, model) for model in experiment.models):
        lines.append(paint("answers may be long, which takes time here: `max_tokens` limits them", "dim"))
    if planned.failing:
        lines.append(
            paint(f"{plural(planned.failing, 'row')} cannot be rendered; ", "yellow")
            + str(planned.first_failing)
        )
    if planned.over_limit:
        lines.append(
            paint(f"{plural(planned.over_limit, 'row')} over the limit of ", "yellow")
            + f"{plural(experiment.token_limit, 'token')}, and cut to it"
        )
    return "\n".join(lines)


def _may_be_long(experiment: Experiment, model: ModelReference) -> bool:
    """Return whether a model on this machine may write as much as it likes."""
    return model.provider == "local" and "max_tokens" not in {**model.parameters, **experiment.parameters}


def _calls(planned: Planned) -> str:
    judging = f" ({planned.judging:,} of them by metrics)" if planned.judging else ""
    words = f"{plural(planned.calls, 'call')}{judging}, about {plural(planned.tokens, 'input token')}"
    if planned.cached:
        words += f", {planned.cached:,} answered from the cache"
    if planned.longest_cost is not None and planned.longest_cost != planned.prompt_cost:
        words += f", {in_dollars(planned.prompt_cost or 0)} to {in_dollars(planned.longest_cost)}"
    elif planned.prompt_cost is not None:
        words += f", {in_dollars(planned.prompt_cost)} and the answers'"
    return words
