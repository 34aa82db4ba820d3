"""Diagnostics for the models that a program gives to Ragas: names in their place, and clients."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.metric_prompts import PROMPTED
from promptls.programs.program import COLLECTIONS, Program
from promptls.syntax.python_places import argument, last_name, text_of

_MODELS: Final = {
    "llm": "llm_factory",
    "embeddings": "embedding_factory",
    "embedding_model": "embedding_factory",
}
"""The arguments that are models, with the functions of Ragas that make one."""
_WRAPPERS: Final = frozenset({"LangchainLLMWrapper", "LangchainEmbeddingsWrapper", "LlamaIndexLLMWrapper"})
_CLIENTS: Final = frozenset({"Anthropic", "AzureOpenAI", "Groq", "OpenAI"})
"""Classes of clients that do not wait; those that do are named like them, with `Async` in front."""


def findings_in_judges(program: Program) -> Iterator[Finding]:
    """Yield names and clients in place of models, and awaited scores of judges whose client cannot wait."""
    collected = program.imported_from(COLLECTIONS)
    for call in program.calls:
        yield from _named_models(program, call)
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


def _named_models(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the name of a model where Ragas takes an object."""
    package, name = program.meaning(call.func)
    if package != "ragas":
        return
    given = {key.value: f"; `{_MODELS[key.arg]}` makes one" for key in call.keywords if key.arg in _MODELS}
    if name in _WRAPPERS:
        given |= dict.fromkeys(call.args[:1], "")
    for each, remedy in given.items():
        if text_of(program.resolved(each) or each) is not None:
            yield Finding(program.span(each), f"`{name}` takes a model here, and not its name{remedy}")


def _provider(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield a client that is passed by position, where the name of the provider belongs."""
    match call.args:
        case [_, given]:
            made = program.resolved(given)
            if isinstance(made, ast.Call) and last_name(made.func).removeprefix("Async") in _CLIENTS:
                start = program.span(given).start
                fix = Fix("Insert `client=`", (Edit.insert(start, "client="),), preferred=True)
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
