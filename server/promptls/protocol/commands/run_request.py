"""What a command asks of a run, out of the arguments of its call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptls.protocol.commands.arguments import prompt_path
from promptls.text.arguments import optional
from promptls.text.failure import FilePlace, WrongUse

if TYPE_CHECKING:
    from promptls.experiments.request import RunRequest
    from promptls.protocol.session import Session


def run_request(session: Session, arguments: dict[str, Any]) -> RunRequest:
    """The run that the arguments ask for; raises `WrongUse` in a workspace that is not trusted.

    `uri` names the prompt; `resume` and `retryErrors` name a run instead. `secrets` are variables with keys,
    out of the editor's own store: they reach the process of the run and nothing else.
    """
    from promptls.experiments.request import RunRequest

    resume = optional(arguments, "resume", str)
    retry = optional(arguments, "retryErrors", str)
    path = "" if resume or retry else prompt_path(session, arguments)
    if session.trusted is False:
        raise WrongUse(
            "experiments are not run in a workspace that is not trusted",
            FilePlace(path) if path else None,
            "trust the workspace first: a run executes its metrics and functions",
        )
    models = optional(arguments, "models", list) or []
    rows = arguments.get("rows")
    budget = optional(arguments, "budget", dict) or {}
    cost = budget.get("cost")
    secrets = optional(arguments, "secrets", dict) or {}
    engine = optional(arguments, "engine", str)
    if engine not in {None, "local", "ray"}:
        raise WrongUse(f"there is no engine `{engine}`", remedy="it is `local` or `ray`")
    return RunRequest(
        prompt=path,
        experiment=optional(arguments, "experiment", str),
        models=[str(model) for model in models],
        rows=None if rows is None else str(rows),
        repeats=optional(arguments, "repeats", int),
        max_calls=optional(budget, "calls", int),
        max_tokens=optional(budget, "tokens", int),
        max_cost=optional({"cost": float(cost) if isinstance(cost, int) else cost}, "cost", float),
        resume=resume,
        retry_errors=retry,
        fresh=arguments.get("fresh") is True,
        yes=arguments.get("yes") is True,
        engine="ray" if engine == "ray" else "local" if engine == "local" else None,
        ray_address=optional(arguments, "rayAddress", str),
        editor=session.flags.models,
        unsaved=session.snapshot.unsaved(),
        secrets={str(name): str(value) for name, value in secrets.items()},
    )
