"""Diagnostics for judges in a program: their clients, and whether these can be awaited."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.metric_prompts import PROMPTED
from promptls.programs.program import COLLECTIONS, Program, argument
from promptls.text.positions import Span
from promptls.workspace.python_scopes import last_name

_CLIENTS: Final = frozenset({"Anthropic", "AzureOpenAI", "Groq", "OpenAI"})
"""Classes of clients that do not wait; those that do are named like them, with `Async` in front."""


def findings_in_judges(program: Program) -> Iterator[Finding]:
    """Yield the clients in place of a provider, and the awaited scores of judges whose client cannot wait."""
    collected = program.imported_from(COLLECTIONS)
    for call in program.calls:
        if program.meaning(call.func) == ("ragas", "llm_factory"):
            yield from _provider(program, call)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "ascore":
            owner = program.resolved(call.func.value)
            made = owner if isinstance(owner, ast.Call) else None
            is_prompted = made is not None and program.library_name(made.func) in PROMPTED
            if made is None or not (is_prompted or ast.unparse(made.func) in collected):
                continue
            judge = argument(call, "llm") or argument(made, "llm")
            client = _client(program, judge)
            if client is not None:
                method = "`score`" if is_prompted else f"`Async{client}`"
                message = f"`ascore` fails with the client of this judge, `{client}`: use {method}"
                yield Finding(program.span(call.func), message)


def _provider(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield a client that is passed by position, where the name of the provider belongs."""
    match call.args:
        case [_, given]:
            made = program.resolved(given)
            if isinstance(made, ast.Call) and last_name(made.func).removeprefix("Async") in _CLIENTS:
                start = program.span(given).start
                fix = Fix("Insert `client=`", (Edit(Span(start, start), "client="),), preferred=True)
                message = "the second argument of `llm_factory` is the name of the provider"
                yield Finding(program.span(given), message, (fix,))


def _client(program: Program, judge: ast.expr | None) -> str | None:
    """Return the class of a judge's client, if it is one that does not wait."""
    made = program.resolved(judge)
    if not isinstance(made, ast.Call) or program.meaning(made.func) != ("ragas", "llm_factory"):
        return None
    client = program.resolved(argument(made, "client"))
    name = last_name(client.func) if isinstance(client, ast.Call) else ""
    return name if name in _CLIENTS else None
