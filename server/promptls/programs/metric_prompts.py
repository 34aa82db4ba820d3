"""Diagnostics for metrics in a program: their prompts, their judges, and classes of them."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping
from string import Formatter
from typing import Final, TypeAlias

from promptls.lint.rule import Finding, Fix
from promptls.programs.program import Program, change_literal, is_open
from promptls.syntax.python_places import Function, argument, dotted_name, last_name, text_of
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import nearest, only_typo

Classes: TypeAlias = tuple[object, ...]
PROMPTED: Final[Mapping[str, str]] = {
    "DiscreteMetric": "discrete_metric",
    "NumericMetric": "numeric_metric",
    "RankingMetric": "ranking_metric",
}
"""The classes of metrics with a prompt, and the decorators of the same kind."""
SCORES: Final = frozenset({"score", "ascore"})
_DEFAULT_CLASSES: Final = ("pass", "fail")
_DEFAULT_LIMITS: Final = (0.0, 1.0)
_QUOTED: Final = r"""'[^'\n{}]{1,40}'|"[^"\n{}]{1,40}"|`[^`\n{}]{1,40}`"""
_VERDICT: Final = r"(?i:yes|no|true|false|pass|fail|(?:in)?correct|(?:in)?valid|(?:ir)?relevant)"
_ITEM: Final = rf"(?<!\w)(?:{_QUOTED}|{_VERDICT})(?!\w)"
_ANSWERS: Final = re.compile(
    r"(?i:(?:^|[.!?:;,\n})]\s*|\b(?:and|then|only|please)\s+)"
    r"(?:answer|respond|reply|return|output|choose|classify|label|pick|select)\b)[^.\n'\"`{}]{0,40}"
    rf"(?P<items>{_ITEM}(?:,\s*{_ITEM})*,?\s+or\s+{_ITEM}|{_ITEM}(?:\s*/\s*{_ITEM})+)"
)
"""A request to answer with one of several values in quotes, or of common verdicts."""
_SCALE: Final = re.compile(
    r"\b(?:scale|score|rating|number|value)\s+(?:of|from|between)\s+"
    r"(?P<range>(\d+(?:\.\d+)?)\s*(?:-|to|and)\s*(\d+(?:\.\d+)?))(?![\d.]*\d)"
)


def fields_of(prompt: ast.expr | None) -> list[str] | None:
    """Return the fields of the literal prompt of a metric; None if they are not all names."""
    if not isinstance(prompt, ast.Constant) or not isinstance(prompt.value, str):
        return None
    try:
        fields = [field for _, field, _, _ in Formatter().parse(prompt.value) if field]
    except ValueError:
        return None
    return list(dict.fromkeys(fields)) if all(field.isidentifier() for field in fields) else None


def classes_of(made: ast.expr) -> Classes | None:
    """Return the literal values that a discrete metric allows."""
    allowed = argument(made, "allowed_values") if isinstance(made, ast.Call) else None
    if isinstance(allowed, ast.List | ast.Tuple) and all(
        isinstance(item, ast.Constant) for item in allowed.elts
    ):
        return tuple(item.value for item in allowed.elts if isinstance(item, ast.Constant))
    return None


def limits_of(made: ast.expr) -> tuple[float, float] | None:
    """Return the literal limits of a numeric metric."""
    match argument(made, "allowed_values") if isinstance(made, ast.Call) else None:
        case ast.Tuple(
            elts=[ast.Constant(value=int() | float() as low), ast.Constant(value=int() | float() as high)]
        ):
            return (low, high) if low <= high else None
    return None


def findings_in_metric_prompts(program: Program) -> Iterator[Finding]:
    """Yield the wrong fields and values in the prompts of metrics."""
    for call in program.calls:
        made = program.library_name(call.func)
        if made not in PROMPTED or is_open(call):
            continue
        prompt = program.resolved(argument(call, "prompt"))
        yield from findings_in_braces(program, prompt, None)
        if not isinstance(prompt, ast.Constant) or not isinstance(prompt.value, str):
            continue
        is_default = argument(call, "allowed_values") is None
        allows = f"{'without `allowed_values`, ' if is_default else ''}the metric allows"
        if made == "DiscreteMetric" and (classes := _DEFAULT_CLASSES if is_default else classes_of(call)):
            yield from _other_values(program, prompt, prompt.value, classes, allows)
        elif made == "NumericMetric" and (limits := _DEFAULT_LIMITS if is_default else limits_of(call)):
            yield from _other_scale(program, prompt, prompt.value, limits, allows)
    yield from _filled_early(program)


def _other_values(
    program: Program, prompt: ast.expr, text: str, classes: Classes, allows: str
) -> Iterator[Finding]:
    """Yield the first value that a prompt asks for in place of an allowed one, which it does not mention."""
    allowed = [str(each) for each in classes]
    unmentioned = [each for each in allowed if not re.search(rf"(?i)(?<!\w){re.escape(each)}(?!\w)", text)]
    folded = {each.casefold() for each in allowed}
    for request in _ANSWERS.finditer(text) if unmentioned else ():
        items = {item.strip("'\"`"): item for item in re.findall(_ITEM, request["items"])}
        others = [item for item in items if item.casefold() not in folded]
        are_renamed = len(others) == len(unmentioned) < len(items)
        if not others or not (are_renamed or len(unmentioned) == len(allowed)):
            continue
        only = unmentioned[0] if are_renamed and len(unmentioned) == 1 else None
        meant = nearest(others[0], unmentioned) or only
        written = items[others[0]]
        place = _written(program, prompt, written)
        quotes = int(written != others[0])
        span = Span(place.start + quotes, place.end - quotes) if place else program.span(prompt)
        fixes = (Fix.change_to(span, meant),) if meant and place else ()
        message = f"{allows} {in_code(classes)}, and not `{others[0]}`"
        yield Finding(span, message, fixes, severity="warning")
        return


def _other_scale(
    program: Program, prompt: ast.expr, text: str, limits: tuple[float, float], allows: str
) -> Iterator[Finding]:
    """Yield the only range of scores in a prompt, if the metric does not allow all of it."""
    found = {each["range"]: (float(each[2]), float(each[3])) for each in _SCALE.finditer(text)}
    if len(found) != 1:
        return
    ((written, (first, last)),) = found.items()
    low, high = limits
    if first < last and (first < low or last > high):
        span = _written(program, prompt, written) or program.span(prompt)
        message = f"{allows} {low:g} to {high:g}, and not {first:g} to {last:g}"
        yield Finding(span, message, severity="warning")


def _written(program: Program, prompt: ast.expr, text: str) -> Span | None:
    """Return where a text is in the source of a prompt; None if it has escapes or line breaks there."""
    found = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)").search(program.text, *program.span(prompt))
    return Span(*found.span()) if found is not None else None


def _filled_early(program: Program) -> Iterator[Finding]:
    """Yield the fields that Python fills where a metric is made, although `score` gets their values."""
    scored: dict[str, set[str | None]] = {}
    for call in program.calls:
        match call.func:
            case ast.Attribute(value=ast.Name(id=name), attr=method) if method in SCORES:
                scored.setdefault(name, set()).update(keyword.arg for keyword in call.keywords)
    for name, call in program.assigned_calls():
        if program.library_name(call.func) not in PROMPTED:
            continue
        given = scored.get(name, set())
        match program.resolved(argument(call, "prompt")):
            case ast.JoinedStr(values=values) as prompt:
                for value in values:
                    match value:
                        case ast.FormattedValue(value=ast.Name(id=field)) if (
                            field in given if given else _is_unbound(program, field)
                        ):
                            yield _in_f_string(program, prompt, field)
            case ast.Call(func=ast.Attribute(attr="format"), keywords=keywords):
                for keyword in keywords:
                    if keyword.arg in given:
                        message = f"`format` fills `{{{keyword.arg}}}` here: `{name}.score` cannot"
                        yield Finding(program.span(keyword), message)


def _is_unbound(program: Program, name: str) -> bool:
    """Return whether a name has no value in the module."""
    is_open = any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in program.nodes)
    return not (is_open or hasattr(builtins, name) or name in program.scopes[0].values)


def _in_f_string(program: Program, prompt: ast.expr, field: str) -> Finding:
    message = f"the f-string fills `{{{field}}}` where the metric is made, before `score` can"
    written = re.compile(rf"(?<!\{{)\{{{field}\}}").search(program.text, *program.span(prompt))
    if written is None:
        return Finding(program.span(prompt), message)
    span = Span(*written.span())
    return Finding(span, message, (Fix.change_to(span, f"{{{{{field}}}}}", preferred=True),))


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
    for call in program.calls:
        yield from _named_models(program, call)
        if program.meaning(call.func) == ("ragas", "llm_factory"):
            yield from _provider(program, call)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "ascore":
            owner = program.resolved(call.func.value)
            made = owner if isinstance(owner, ast.Call) else None
            is_prompted = made is not None and program.library_name(made.func) in PROMPTED
            if made is None or not (is_prompted or dotted_name(made.func) in program.collected):
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
                span = program.span(given)
                message = "the second argument of `llm_factory` is the name of the provider"
                yield Finding(span, message, (Fix.insert(span.start, "client="),))


def _client(program: Program, judge: ast.expr | None) -> str | None:
    """Return the class of a judge's client, if it is one that does not wait."""
    made = program.resolved(judge)
    if not isinstance(made, ast.Call) or program.meaning(made.func) != ("ragas", "llm_factory"):
        return None
    client = program.resolved(argument(made, "client"))
    name = last_name(client.func) if isinstance(client, ast.Call) else ""
    return name if name in _CLIENTS else None


_FIELD_END: Final = re.compile(r"[.\[]")


def findings_in_braces(
    program: Program, prompt: ast.expr | None, inputs: Iterable[str] | None
) -> Iterator[Finding]:
    """Yield the first braces in a literal prompt that are no input; without `inputs`, any name is one."""
    if not isinstance(prompt, ast.Constant) or not isinstance(prompt.value, str):
        return
    span = program.span(prompt)
    advice = "so formatting the prompt fails; braces in text are written twice"
    try:
        fields = [field for _, field, _, _ in Formatter().parse(prompt.value) if field is not None]
    except ValueError as error:
        yield Finding(span, f"{str(error).lower()}, {advice}", severity="warning")
        return
    fields = [_FIELD_END.split(field)[0] for field in fields]
    known = fields if inputs is None else inputs
    wrong = next((each for each in fields if each not in known or not each.isidentifier()), None)
    if wrong is None:
        return
    at = program.text.find("{" + (wrong or "}"), span.start, span.end)
    place = span if at < 0 else Span(at, at + len(wrong or "}") + 1)
    meant = nearest(wrong, known)
    if meant is not None and at >= 0 and meant != wrong:
        message = f"`{wrong}` is not an input"
        yield Finding.suggest(Span(at + 1, place.end), message, meant, severity="warning")
    else:
        yield Finding(place, f"these braces are read as an input, {advice}", severity="warning")


_BASES: Final[Mapping[str, str]] = {
    "SingleTurnMetric": "_single_turn_ascore",
    "MultiTurnMetric": "_multi_turn_ascore",
}
"""The base classes of metrics, and the method that each of them needs."""
_COLUMNS: Final = (
    "user_input",
    "response",
    "reference",
    "retrieved_contexts",
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
    "multi_responses",
    "rubrics",
    "reference_topics",
    "reference_tool_calls",
)


def findings_in_metric_classes(program: Program) -> Iterator[Finding]:
    """Yield what is wrong with the metrics that a program defines."""
    for node in program.classes:
        bases = {program.library_name(base) for base in node.bases}
        if bases & {*_BASES, "MetricWithLLM"}:
            yield from _columns(program, node)
            yield from _decorator(program, node)
            yield from _methods(program, node, bases)


def _columns(program: Program, node: ast.ClassDef) -> Iterator[Finding]:
    """Yield the misspelled names of required columns."""
    for each in ast.walk(node):
        match each:
            case ast.Dict(keys=keys, values=values):
                sets = [
                    value
                    for key, value in zip(keys, values, strict=True)
                    if key is not None and "MetricType." in ast.unparse(key) and isinstance(value, ast.Set)
                ]
            case _:
                sets = []
        for name in (name for columns in sets for name in columns.elts):
            column, colon, ending = (text_of(name) or "").partition(":")
            meant = nearest(column, _COLUMNS) if column and column not in _COLUMNS else None
            if meant is not None:
                message = f"a sample has no column `{column}`; did you mean `{meant}`?"
                fix = change_literal(program, name, f"{meant}{colon}{ending}")
                yield Finding(program.span(name), message, (fix,))


def _decorator(program: Program, node: ast.ClassDef) -> Iterator[Finding]:
    """Yield a class with `field(…)` that is no dataclass, so that the attribute is the field itself."""
    if node.decorator_list or node.keywords:
        return
    for each in node.body:
        match each:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(func=ast.Name(id="field"))):
                fix = Fix.insert(program.span(node).start, "@dataclass\n")
                message = f"without `@dataclass`, `{name}` is the result of `field`, and not its default"
                yield Finding(program.span(each.target), message, (fix,))
                return


def _methods(program: Program, node: ast.ClassDef, bases: set[str]) -> Iterator[Finding]:
    """Yield a method whose name is similar to that of one that the class needs and lacks."""
    methods = {each.name: each for each in node.body if isinstance(each, Function)}
    for needed in (_BASES[base] for base in sorted(bases & _BASES.keys())):
        similar = only_typo(needed, methods) if needed not in methods else None
        if similar is not None:
            span = program.places.name_span(methods[similar])
            fixes = (Fix.change_to(span, needed, preferred=program.text.count(similar) == 1),)
            yield Finding(span, f"a metric needs the method `{needed}`, and this is `{similar}`", fixes)
