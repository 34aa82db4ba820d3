"""Diagnostics for the uses of promptls, Ragas and Prompt Poet in a Python file: imports and calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

import promptls
from promptls.lint.analysis.declared_experiments import METRIC_DECORATORS
from promptls.lint.fixes.misspellings import near_file
from promptls.lint.rule import Finding, Fix
from promptls.lint.rules.jinja.wrong_arguments import wrong_arguments
from promptls.lint.runner import severity_of
from promptls.programs.coroutines import findings_in_coroutines
from promptls.programs.datasets import findings_in_datasets
from promptls.programs.experiments import experiments_of, findings_in_experiments, known_experiments
from promptls.programs.metric_calls import findings_in_metrics, findings_in_scores, metrics_of
from promptls.programs.metric_prompts import PROMPTED, findings_in_judges
from promptls.programs.metric_results import Results, findings_in_results
from promptls.programs.own_classes import findings_in_own_objects
from promptls.programs.poet_calls import findings_in_poet_calls, large_step
from promptls.programs.program import (
    COLLECTIONS,
    Program,
    change_literal,
    is_open,
    may_use_library,
    parse_program,
    suggest_literal,
    unknown_argument,
    unknown_arguments,
)
from promptls.programs.ragas_classes import (
    CHOICES,
    INSTANCES,
    METRIC_CLASSES,
    parameters_of_class,
    parameters_of_method,
)
from promptls.programs.ragas_prompts import findings_in_prompt_classes, findings_in_prompt_objects
from promptls.programs.ragas_samples import findings_in_samples
from promptls.security.files import is_file
from promptls.settings.project import Project
from promptls.syntax.python_places import (
    Function,
    argument,
    arguments,
    dotted_name,
    last_name,
    parameters,
    text_of,
)
from promptls.text.format import in_code, lower_first
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, nearest, only_typo
from promptls.tokens import UnknownEncodingError, encoding_name
from promptls.workspace.disk import ENDINGS
from promptls.workspace.python_calls import failing_blocks
from promptls.workspace.python_experiments import PROMPT_PARAMETERS
from promptls.workspace.python_scopes import PACKAGES

_METRIC_KEYWORDS: Final = ("name", "allowed_values")
_CONSTRUCTORS: Final[Mapping[str, tuple[tuple[str, ...], frozenset[str]]]] = {
    "Dataset": (("name",), frozenset({"backend", "data", "data_model"})),
    "MetricResult": (("value",), frozenset({"reason", "traces"})),
    "AspectCritic": (("name", "definition"), frozenset({"llm", "strictness"})),
    "SimpleCriteriaScore": (("name", "definition"), frozenset({"llm", "strictness"})),
    "DiscreteMetric": (("name",), frozenset({"allowed_values", "prompt", "llm"})),
    "NumericMetric": (("name",), frozenset({"allowed_values", "prompt", "llm"})),
    "RankingMetric": (("name",), frozenset({"allowed_values", "prompt", "llm"})),
}
"""The required arguments of classes and functions in their order, and others."""
_NAMED: Final = frozenset({"AspectCritic", "SimpleCriteriaScore"})
"""The metrics that need a `name` in Ragas only."""
_CLOSED: Final = frozenset({"MetricResult"})
"""The classes that have no more arguments."""


def findings_in_library_calls(text: str, path: str, project: Project) -> tuple[Finding, ...]:
    """Return the diagnostics of the Python file at `path`, with rule and severity, in text order."""
    severity = severity_of(wrong_arguments, project)
    program = parse_program(text, Path(path)) if severity is not None and may_use_library(text) else None
    if program is None or severity is None or not program.imports:
        return ()
    try:
        found = set(_findings(program, project))
    except RecursionError:  # from `ast.unparse`
        return ()
    failing = [program.span(block) for block in failing_blocks(program.module)]
    placed = (
        finding.of(wrong_arguments.name, finding.severity or severity)
        for finding in found
        if not any(span.start < finding.span.start < span.end for span in failing)
    )
    return tuple(sorted(placed, key=lambda finding: (finding.span, finding.message)))


def imports_library(text: str, path: str) -> bool:
    """Return whether a Python text imports one of the libraries whose uses are checked."""
    program = parse_program(text, Path(path)) if may_use_library(text) else None
    return program is not None and bool(program.imports)


def _findings(program: Program, project: Project) -> Iterator[Finding]:
    """Yield the wrong uses of the libraries in a program."""
    yield from findings_in_imports(program)
    yield from findings_in_poet_calls(program)
    yield from findings_in_prompt_classes(program)
    yield from findings_in_prompt_objects(program)
    yield from findings_in_samples(program)
    metrics, own = metrics_of(program), experiments_of(program)
    experiments = known_experiments(program, own)
    yield from findings_in_metrics(program, metrics)
    yield from findings_in_datasets(program, own)
    yield from findings_in_experiments(program, own, experiments)
    yield from findings_in_judges(program)
    yield from findings_in_scores(program)
    yield from findings_in_results(Results(program, metrics, own))
    yield from findings_in_coroutines(program, experiments)
    yield from findings_in_own_objects(program, own, project)
    for call in program.calls:
        yield from _keywords(program, call)
        yield from _constructor(program, call)
        if dotted_name(call.func) not in program.collected:
            yield from _parameters(program, call)
        yield from _choices(program, call)
        yield from _of_load(program, call)
        for keyword in call.keywords:
            if keyword.arg in PROMPT_PARAMETERS:
                yield from _path(program, keyword.value)
    for function in program.functions:
        yield from _bare_decorators(program, function)
        for parameter, default in parameters(function):
            if default is not None and parameter.arg in PROMPT_PARAMETERS:
                yield from _path(program, default)


def _keywords(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the misspelled arguments of decorators of Ragas, which ignore other arguments."""
    package, name = program.meaning(call.func)
    if package == "ragas" and name in METRIC_DECORATORS:
        message = f"`{name}` has no argument `{{}}`"
        yield from (
            each for each in unknown_arguments(program, call, message, _METRIC_KEYWORDS) if each.fixes
        )


def _constructor(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the arguments that a class does not have or needs."""
    package, name = program.meaning(call.func)
    given = {keyword.arg: keyword for keyword in call.keywords}
    known = _CONSTRUCTORS.get(name)
    if known is None or is_open(call):
        return
    required, optional = known
    missing = [each for each in required[len(call.args) :] if each not in given]
    if package == "promptls" and name in _NAMED:
        missing = [each for each in missing if each != "name"]
    for key, keyword in given.items():
        others = {*required, *optional} - given.keys()
        is_wrong = name in _CLOSED or any(is_typo(key or "", each) for each in others)
        if is_wrong and key not in {*required, *optional}:
            yield unknown_argument(program, keyword, f"`{name}` has no argument `{key}`", missing or others)
            return
    if missing:
        yield Finding(program.span(call.func), f"`{name}` needs {in_code(missing)}")


def _parameters(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the arguments that a class, function or method of Ragas has in no release."""
    package, name = program.meaning(call.func)
    given = frozenset(keyword.arg for keyword in call.keywords if keyword.arg is not None)
    known: frozenset[str] = frozenset()
    if package in PACKAGES and name not in _CONSTRUCTORS:
        is_own = package == "promptls" and name[:1].islower()  # known from its signature
        known = frozenset() if is_own else parameters_of_class(name, given)
    elif isinstance(call.func, ast.Attribute):
        name = call.func.attr
        known = parameters_of_method(name, given)
    if known:
        yield from unknown_arguments(program, call, f"`{name}` has no argument `{{}}`", sorted(known))


def _choices(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the texts that a parameter of a metric does not take."""
    package, name = program.meaning(call.func)
    for keyword in call.keywords if package in PACKAGES else ():
        allowed = CHOICES.get((name, keyword.arg or ""), ())
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if allowed and isinstance(value, str) and value not in allowed:
            meant = nearest(value, allowed)
            fixes = (change_literal(program, keyword.value, meant),) if meant else ()
            message = f"`{keyword.arg}` of `{name}` is one of {in_code(allowed)}"
            yield Finding(program.span(keyword.value), message, fixes)


def _of_load(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield an unknown encoding, a truncation step over the limit, and the path of a missing file."""
    if program.meaning(call.func) != ("promptls", "load"):
        return
    node = argument(call, "encoding")
    if node is not None and (name := text_of(node)) is not None:
        try:
            encoding_name(name)
        except UnknownEncodingError as error:
            reason = str(error).partition(". ")[0]
            yield Finding(program.span(node), lower_first(reason))
    yield from large_step(program, arguments(call))
    if call.args:
        yield from _path(program, call.args[0])
        read = program.resolved(call.args[0])
        if isinstance(read, ast.Call) and last_name(read.func) in {"read", "read_text"}:
            message = "`load` takes the path of a template, and this is a text"
            yield Finding(program.span(call.args[0]), message)


def _path(program: Program, node: ast.expr) -> Iterator[Finding]:
    """Yield the path of a prompt file that is in no folder around the program, if a similar one is."""
    name = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(name, str) or not name.endswith(ENDINGS):
        return
    folders = program.folders
    if Path(name).is_absolute() or any(is_file(folder / name) for folder in folders):
        return
    meant = next(filter(None, (near_file(folder / name, name, ENDINGS) for folder in folders)), None)
    if meant is not None:
        yield suggest_literal(program, node, f"there is no file `{name}`", meant, severity="warning")


def _bare_decorators(program: Program, node: Function) -> Iterator[Finding]:
    for decorator in node.decorator_list:
        package, name = program.meaning(decorator)
        if name in METRIC_DECORATORS or (package, name) == ("ragas", "experiment"):
            span = program.span(decorator)
            message = f"`{name}` must be called: `@{ast.unparse(decorator)}()`"
            yield Finding(span, message, (Fix.insert(span.end, "()"),))


_NAMES: Final = {
    "prompt_poet": frozenset({"Prompt", "PromptPart", "Template"}),
    "ragas": frozenset({"Dataset", "EvaluationDataset", "Experiment", "MultiTurnSample", "SingleTurnSample"})
    | {"aevaluate", "evaluate", "experiment", "version_experiment"},
    "ragas.metrics.result": frozenset({"MetricResult"}),
    "ragas.metrics.discrete": frozenset({"DiscreteMetric", "discrete_metric"}),
    "ragas.metrics.numeric": frozenset({"NumericMetric", "numeric_metric"}),
    "ragas.metrics.ranking": frozenset({"RankingMetric", "ranking_metric"}),
    "ragas.prompt": frozenset({"PydanticPrompt", "ImageTextPrompt", "Prompt"}),
    "ragas.llms": frozenset({"LangchainLLMWrapper", "LlamaIndexLLMWrapper", "llm_factory"}),
}
"""The names that programs import from a module."""
_MODULES: Final = [
    "_answer_correctness",
    "_answer_relevance",
    "_answer_similarity",
    "_aspect_critic",
    "_bleu_score",
    "_chrf_score",
    "_context_entities_recall",
    "_context_precision",
    "_context_recall",
    "_datacompy_score",
    "_domain_specific_rubrics",
    "_factual_correctness",
    "_faithfulness",
    "_goal_accuracy",
    "_instance_specific_rubrics",
    "_multi_modal_faithfulness",
    "_multi_modal_relevance",
    "_noise_sensitivity",
    "_nv_metrics",
    "_rouge_score",
    "_rubrics_based",
    "_simple_criteria",
    "_sql_semantic_equivalence",
    "_string",
    "_summarization",
    "_tool_call_accuracy",
    "_tool_call_f1",
    "_topic_adherence",
]
"""The modules of `ragas.metrics` with one metric each."""
_OLD_METRICS: Final = frozenset({"ContextRelevancy", "context_relevancy"})
"""Metrics of Ragas 0.1, whose names are like those of later ones."""


@lru_cache(maxsize=8)
def _names_of(module: str) -> frozenset[str]:
    """Return the known names of a module; more may exist in some release."""
    if module == "promptls":
        return frozenset(promptls.__all__)
    from promptls.metrics.ragas_metrics import RAGAS_METRICS

    if module.startswith("promptls."):  # the modules of Ragas have the same names there
        module = f"ragas.{module.removeprefix('promptls.')}"
    if module == COLLECTIONS:
        return frozenset(each.kind for each in RAGAS_METRICS)
    if module == "ragas.metrics":
        names = {name for each in RAGAS_METRICS for name in (each.kind, each.name)}
        names |= {*METRIC_CLASSES, *INSTANCES}
        return frozenset({*names, *PROMPTED, *METRIC_DECORATORS, "MetricResult"}) | _OLD_METRICS
    return _NAMES.get(module, frozenset())


def findings_in_imports(program: Program) -> Iterator[Finding]:
    """Yield the imported names that differ by a letter from the only such name of their module."""
    for node in program.nodes:
        if not isinstance(node, ast.ImportFrom) or node.level:
            continue
        yield from _module(program, node)
        known = _names_of(node.module or "")
        for alias in node.names if known else ():
            is_class = alias.name[:1].isupper()
            near = [each for each in known if is_typo(alias.name, each)]
            meant = [each for each in near if each[:1].isupper() is is_class]
            if alias.name in known or alias.name.startswith("_"):
                continue  # Ragas 0.4 also has its older metrics as `_Faithfulness`.
            if len(meant) == 1 and meant[0].casefold() != alias.name.casefold():
                message = f"`{node.module}` has no `{alias.name}`"
                yield Finding.suggest(program.places.span(alias), message, meant[0], preferred=True)


def _module(program: Program, node: ast.ImportFrom) -> Iterator[Finding]:
    """Yield the module of a metric whose name differs by a letter from the only such one."""
    package, _, name = (node.module or "").rpartition(".")
    if package != "ragas.metrics" or not name.startswith("_") or name in _MODULES:
        return
    meant = only_typo(name, _MODULES)
    if meant is not None:
        end = program.places.module_span(node, node.module or "").end
        message = f"`{package}` has no module `{name}`"
        yield Finding.suggest(Span(end - len(name), end), message, meant, preferred=True)
