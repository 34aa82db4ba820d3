"""The parts of an OpenCompass run that fail or are lost: imports, lists, limits of models, tasks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from promptls.dialects.opencompass.vocabulary import CHAT_MODELS, EVALUATORS, INFERENCERS, RETRIEVERS
from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.configuration_tree import (
    KNOWN_CLASSES,
    ConfigurationTree,
    is_mapping,
    keys_of,
    values_of,
)
from promptls.syntax.python_places import last_name, text_of
from promptls.text.suggest import only_typo

_LISTS: Final = ("datasets", "models")
_OF_DATASETS: Final = frozenset({"abbr", "type", "reader_cfg", "infer_cfg", "eval_cfg"})
_RUNNERS: Final = frozenset({"LocalRunner", "SlurmRunner", "SlurmSequentialRunner", "DLCRunner"})
"""The classes that start the tasks of a run, and need to know which."""
_INFERENCE: Final = "OpenICLInferTask"
_KINDS: Final[Mapping[str, str]] = {
    "icl_inferencer": "an inferencer",
    "icl_prompt_template": "a template",
    "icl_retriever": "a retriever",
    "models": "a model",
    "partitioners": "a partitioner",
    "runners": "a runner",
    "summarizers": "a summarizer",
}
"""The modules of OpenCompass with classes of one kind."""
_EXPECTED: Final[Mapping[str, str]] = {
    "evaluator": "an evaluator",
    "ice_template": "a template",
    "inferencer": "an inferencer",
    "partitioner": "a partitioner",
    "prompt_template": "a template",
    "retriever": "a retriever",
    "runner": "a runner",
    "summarizer": "a summarizer",
}
"""The kinds of classes that keys take."""
_WITH_PATH: Final = CHAT_MODELS | {
    *("HuggingFace", "HuggingFaceBaseModel", "HuggingFaceCausalLM", "InternLM"),
    *("ModelScope", "ModelScopeCausalLM", "TurboMindModel", "VLLM"),
}
"""The classes of models that load weights."""


def part_problems(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield what fails, or is lost, when OpenCompass runs a configuration."""
    for find in (_read_bases, _relative_imports, _mappings, _limits, _tasks, _unread_evaluations):
        yield from find(tree)
    for find in (_other_parts, _keys_of_lists, _misspelled_evaluators, _models_without_path):
        yield from find(tree)


def _read_bases(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield `read_base` without its parentheses, which MMEngine refuses."""
    for node in tree.all_of(ast.With):
        for item in node.items:
            if isinstance(item.context_expr, ast.Name) and item.context_expr.id == "read_base":
                span = tree.span(item.context_expr)
                fix = Fix("Insert `()`", (Edit.insert(span.end, "()"),), preferred=True)
                yield Finding(span, "`read_base` must be called: `with read_base():`", (fix,))


def _relative_imports(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the lists that are imported beside `with read_base():`, where they are not read."""
    if not any(isinstance(node, ast.With) for node in tree.module.body):
        return
    for node in tree.module.body:
        for alias in node.names if isinstance(node, ast.ImportFrom) and node.level else ():
            if alias.name.endswith(_LISTS):
                message = f"`{alias.name}` is only read below `with read_base():`"
                yield Finding(tree.span(alias), message)


def _mappings(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the mapping of a dataset where a list of datasets is needed."""
    for name, values in tree.variables.items():
        if not name.endswith("datasets") or any(isinstance(each, ast.Subscript) for each in values):
            continue
        for value in values:
            if isinstance(value, ast.Call) and is_mapping(value) and len(keys_of(value) & _OF_DATASETS) > 1:
                span = tree.span(value)
                edits = (Edit.insert(span.start, "["), Edit.insert(span.end, "]"))
                fixes = (Fix("Put it into a list", edits),) if len(values) == 1 else ()
                message = f"`{name}` is a list of datasets, and this is the mapping of one"
                yield Finding(tree.span(value.func), message, fixes)


def _limits(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield a limit of a model's answer that is above that of prompt and answer together."""
    for mapping in tree.mappings:
        values = values_of(mapping)
        answer, whole = values.get("max_out_len"), values.get("max_seq_len")
        match answer, whole:
            case ast.Constant(value=int() as out), ast.Constant(value=int() as limit) if out > limit > 0:
                message = f"`max_seq_len` allows {limit} tokens with the prompt, and the answer alone {out}"
                yield Finding(tree.span(answer), message, severity="warning")


def _tasks(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield a runner without a task, and the task of the inference in the evaluation."""
    for name, value in tree.named_values:
        if name != "runner" or not isinstance(value, ast.Call):
            continue
        given = values_of(value)
        kind = given.get("type")
        if kind is not None and last_name(kind) in _RUNNERS and not given.keys() & {"task", None}:
            message = f"`{last_name(kind)}` needs a `task`: `dict(type={_INFERENCE})`, for example"
            if "task" not in tree.keys_set_later:
                yield Finding(tree.span(value.func), message)
    evaluation = next((value for name, value in tree.named_values if name == "eval"), None)
    for node in ast.walk(evaluation) if evaluation is not None else ():
        if isinstance(node, ast.Name) and node.id == _INFERENCE:
            message = f"`{_INFERENCE}` asks the models again; the task of the evaluation is `OpenICLEvalTask`"
            yield Finding(tree.span(node), message, severity="warning")


def _unread_evaluations(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield an `eval_cfg` that nothing reads, if the only dataset has none."""
    read = {node.id for node in tree.all_of(ast.Name) if isinstance(node.ctx, ast.Load)}
    datasets = [each for each in tree.mappings if {"reader_cfg", "infer_cfg"} <= keys_of(each)]
    if (
        tree.is_excerpt
        or len(datasets) != 1
        or keys_of(datasets[0]) & {"eval_cfg"}
        or None in values_of(datasets[0])
    ):
        return
    for node in tree.all_of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id.endswith("eval_cfg") and target.id not in read:
            message = f"the dataset has no `eval_cfg`, so that nothing reads `{target.id}`"
            yield Finding(tree.span(target), message, severity="warning")


def _other_parts(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the classes of OpenCompass at a key that takes another kind of class."""
    imported: dict[str, str] = {}
    for node in tree.imports:
        module = (node.module or "").split(".")
        part = next((each for each in module if each in _KINDS), None)
        if part is not None and module[0] == "opencompass":
            names = {alias.asname or alias.name for alias in node.names} - KNOWN_CLASSES
            imported |= dict.fromkeys(names, _KINDS[part])
    imported |= dict.fromkeys(RETRIEVERS, "a retriever") | dict.fromkeys(INFERENCERS, "an inferencer")
    for keyword in tree.keywords:
        kind = values_of(keyword.value).get("type")
        expected = _EXPECTED.get(keyword.arg or "")
        if isinstance(kind, ast.Name) and expected and imported.get(kind.id, expected) != expected:
            message = f"`{keyword.arg}` takes {expected}, and `{kind.id}` is {imported[kind.id]}"
            yield Finding(tree.span(kind), message)


def _keys_of_lists(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the calls of `list` and `tuple` with the keys of a mapping, which Python refuses."""
    for call in tree.all_of(ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id in {"list", "tuple", "set"} and call.keywords:
            message = f"`{call.func.id}` takes no keys"
            yield Finding.suggest(tree.span(call.func), message, "dict", preferred=True)


def _misspelled_evaluators(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the text that misspells the class of an evaluator."""
    for evaluator in tree.values_at("evaluator"):
        kind = values_of(evaluator).get("type")
        name = text_of(kind) or ""
        meant = only_typo(name, EVALUATORS) if name not in EVALUATORS else None
        place = tree.places.inside_quotes(kind) if meant and isinstance(kind, ast.Constant) else None
        if meant is not None and place is not None:
            yield Finding.suggest(place, f"OpenCompass has no evaluator `{name}`", meant)


def _models_without_path(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the models whose class needs the `path` of its weights, and gets none."""
    if "path" in tree.keys_set_later:
        return
    for name, value in tree.named_values:
        for model in value.elts if name == "models" and isinstance(value, ast.List) else ():
            kind = values_of(model).get("type")
            if not isinstance(kind, ast.Name) or kind.id not in _WITH_PATH & tree.classes:
                continue
            if isinstance(model, ast.Call) and not values_of(model).keys() & {"path", None}:
                yield Finding(
                    tree.span(model.func), f"a `{last_name(kind)}` needs a `path`, that of its weights"
                )
