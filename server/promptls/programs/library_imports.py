"""Diagnostics for the names that a program imports from promptls, Ragas and Prompt Poet."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import promptls
from promptls.lint.analysis.declared_experiments import METRIC_DECORATORS
from promptls.lint.rule import Finding
from promptls.programs.metric_prompts import PROMPTED
from promptls.programs.program import COLLECTIONS, Program
from promptls.programs.ragas_classes import INSTANCES, METRIC_CLASSES
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, only_typo

_NAMES: Final = {
    "prompt_poet": frozenset({"Prompt", "PromptPart", "Template"}),
    "ragas": frozenset({"Dataset", "EvaluationDataset", "Experiment", "MultiTurnSample", "SingleTurnSample"})
    | {"aevaluate", "evaluate", "experiment", "version_experiment"},
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
