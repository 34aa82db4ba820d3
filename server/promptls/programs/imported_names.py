"""Diagnostics for the names that a program imports from Ragas and Prompt Poet."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from promptls.lint.analysis.declared_experiments import METRIC_DECORATORS
from promptls.lint.rule import Finding
from promptls.programs.metric_prompts import PROMPTED
from promptls.programs.program import COLLECTIONS, Program
from promptls.programs.ragas_classes import INSTANCES, METRIC_CLASSES
from promptls.text.positions import Span
from promptls.text.suggest import is_typo

_NAMES: Final = {
    "prompt_poet": frozenset({"Prompt", "PromptPart", "Template"}),
    "ragas": frozenset({"Dataset", "EvaluationDataset", "Experiment", "MultiTurnSample", "SingleTurnSample"})
    | {"aevaluate", "evaluate", "experiment", "version_experiment"},
    "ragas.prompt": frozenset({"PydanticPrompt", "ImageTextPrompt", "Prompt"}),
    "ragas.llms": frozenset({"LangchainLLMWrapper", "LlamaIndexLLMWrapper", "llm_factory"}),
}
"""The names that programs import from a module."""

_OLD_METRICS: Final = frozenset({"ContextRelevancy", "context_relevancy"})
"""Metrics of Ragas 0.1, whose names are like those of later ones."""


@lru_cache(maxsize=8)
def _names_of(module: str) -> frozenset[str]:
    """Return the known names of a module; more may exist in some release."""
    from promptls.metrics.ragas_metrics import RAGAS_METRICS

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
        known = _names_of(node.module or "")
        for alias in node.names if known else ():
            is_class = alias.name[:1].isupper()
            near = [each for each in known if is_typo(alias.name, each)]
            meant = [each for each in near if each[:1].isupper() is is_class]
            if alias.name not in known and len(meant) == 1 and meant[0].casefold() != alias.name.casefold():
                start = program.places.span(alias).start
                span = Span(start, start + len(alias.name))
                message = f"`{node.module}` has no `{alias.name}`"
                yield Finding.suggest(span, message, meant[0], preferred=True)
