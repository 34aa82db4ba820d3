"""Keys of an OpenCompass configuration, and parts of its run: wrong, missing, repeated and lost ones."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from promptls.dialects.opencompass.vocabulary import CHAT_MODELS, EVALUATORS, INFERENCERS, RETRIEVERS
from promptls.lint.analysis.typos import is_obvious_typo
from promptls.lint.rule import Finding, Fix, Severity
from promptls.programs.configuration_tree import (
    CONFIGURATION_KEYS,
    DATASET_KEYS,
    KNOWN_CLASSES,
    OF_EVALUATION,
    ConfigurationTree,
    is_mapping,
    keys_of,
    values_of,
)
from promptls.syntax.python_places import PythonPlaces, argument, last_name, text_of
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, nearest, odd_keys, only_typo

_TYPED: Final = frozenset(
    {"prompt_template", "ice_template", "retriever", "inferencer"}
    | {"evaluator", "pred_postprocessor", "dataset_postprocessor"}
)
"""The keys whose mappings name a class or function of OpenCompass."""
_MIN_LONG: Final = 8
"""The minimum length of a key for a different letter to be a typo."""
_MIN_LENGTH: Final = 3
"""The minimum length of a key for it to be considered a typo."""
_OTHER_DATASET_KEYS: Final = frozenset({"abbr", "name", "path", "type", *DATASET_KEYS})
_MIN_DATASET_KEYS: Final = 2
"""The minimum number of known keys of a mapping that is a dataset."""
_CONFIGURATIONS: Final[Mapping[str, frozenset[str]]] = {
    "reader_cfg": frozenset({"input_columns", "output_column"}),
    "infer_cfg": frozenset({"ice_template", "prompt_template", "retriever", "inferencer"}),
    "eval_cfg": frozenset({"evaluator", "pred_role", "pred_postprocessor"}),
}
"""The mappings of a dataset, and the keys that show which one a mapping is."""
_OF_READERS: Final = frozenset({"input_columns", "output_column", "test_range", "train_range"})
_PARTITIONED: Final = frozenset({"type", "out_dir", "strategy", "dataset_size_path", "keep_keys"})
_OF_RUNS: Final[Mapping[str, frozenset[str]]] = {
    "NumWorkerPartitioner": _PARTITIONED | {"num_worker", "num_split", "min_task_size", "force_rebuild"},
    "SizePartitioner": _PARTITIONED | {"max_task_size", "gen_task_coef"},
    "LocalRunner": frozenset({"type", "task", "max_num_workers", "max_workers_per_gpu", "debug", "retry"}),
}
"""The keys of classes that divide and start the tasks of a run."""


def _wrong_keys(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the misspelled keys of mappings, and what datasets, and the mappings in them, lack."""
    named = [value for name, value in tree.named_values if name.endswith("eval_cfg")]
    evaluations = {id(value) for each in named for value in tree.assigned_to(each)}
    inferences = _inferences(tree)
    owners = {id(keyword.value): keyword.arg for keyword in tree.keywords}
    # The values of a table become datasets in a loop, which may add keys.
    in_tables = {id(each) for node in tree.all_of(ast.Dict) for each in node.values}
    for node in tree.mappings:
        keys = {keyword.arg for keyword in node.keywords}
        what, known = "", tuple[str, ...]()
        if len(keys & _OTHER_DATASET_KEYS) >= _MIN_DATASET_KEYS:
            what, known = "a dataset has no key", DATASET_KEYS
        elif id(node) in evaluations:
            what, known = "an evaluation has no key", OF_EVALUATION
        elif id(node) in inferences:
            what, known = "an `infer_cfg` has no key", ("inferencer",)
        typos = [*_typos(node, what, known, tree.places)] or [*_misspelled_keys(node, tree.places)]
        yield from typos
        for keyword in node.keywords if known is DATASET_KEYS and "reader_cfg" in keys else ():
            if keyword.arg in _OF_READERS:
                yield Finding(tree.span(keyword), f"`{keyword.arg}` is a key of the `reader_cfg`")
        if not typos and None not in keys and id(node) not in in_tables:
            is_inference = id(node) in inferences
            missing = _missing_key(
                keys, owners.get(id(node)), is_inference=is_inference, is_excerpt=tree.is_excerpt
            )
            if missing is not None and missing[0] not in tree.keys_set_later:
                yield Finding(tree.span(node.func), missing[1])


def _in_evaluators(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the `pred_role` of an evaluator, which is a key beside it."""
    for evaluator in tree.values_at("evaluator"):
        kind = values_of(evaluator).get("type")
        if isinstance(evaluator, ast.Call) and isinstance(kind, ast.Name) and kind.id in tree.classes:
            for keyword in (each for each in evaluator.keywords if each.arg == "pred_role"):
                message = "no evaluator takes a `pred_role`: it belongs beside `evaluator`"
                yield Finding(tree.span(keyword), message)


def _missing_key(
    keys: Collection[str | None], key: str | None, *, is_inference: bool, is_excerpt: bool
) -> tuple[str, str] | None:
    """Return a key that the mapping at `key` lacks, with a message about it; None if it lacks none."""
    if is_inference and "inferencer" not in keys:
        return (
            "inferencer",
            "there is no `inferencer` beside the retriever; `GenInferencer` generates an answer",
        )
    if {"type", "infer_cfg"} <= {*keys} and "reader_cfg" not in keys:
        return "reader_cfg", "a dataset needs a `reader_cfg`, which names the columns of its rows"
    if is_excerpt:
        return None
    if keys and key in _TYPED and "type" not in keys:
        return "type", f"`{key}` has no `type`, which says what OpenCompass makes of it"
    if {"infer_cfg", "reader_cfg"} <= {*keys} and "type" not in keys:
        return "type", "a dataset needs a `type`, the class that loads its rows"
    if {"reader_cfg", "eval_cfg"} <= {*keys} and "infer_cfg" not in keys:
        return "infer_cfg", "a dataset needs an `infer_cfg`, which has the prompt and the inferencer"
    return None


def _misspelled_keys(node: ast.Call, places: PythonPlaces) -> Iterator[Finding]:
    """Yield the keys that differ from one of OpenCompass by swapped, missing or doubled letters.

    Long keys may also differ by a letter.
    """
    keys = {keyword.arg for keyword in node.keywords}
    for keyword in node.keywords:
        key = keyword.arg
        if key is None or key in CONFIGURATION_KEYS or len(key) < _MIN_LENGTH:
            continue
        meant = [
            each
            for each in CONFIGURATION_KEYS - keys
            if key[0] == each[0]
            and is_typo(key, each)
            and (is_obvious_typo(key, each) or len(key) >= _MIN_LONG)
            and not key.startswith(each)
            and each != f"{key}s"
        ]
        if len(meant) == 1:
            # A class of the project may have an argument of that name.
            severity: Severity | None = None if meant[0] == "type" else "warning"
            message = f"OpenCompass has no key `{key}`"
            yield Finding.suggest(places.span(keyword), message, meant[0], preferred=True, severity=severity)


def _called_classes(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the calls of classes at `type`, where OpenCompass itself creates the object."""
    for mapping in tree.mappings:
        kind = argument(mapping, "type")
        if isinstance(kind, ast.Call) and not kind.args and not kind.keywords:
            name = last_name(kind.func)
            if name in KNOWN_CLASSES or name in EVALUATORS:
                message = f"`type` is the class `{name}` itself, which OpenCompass calls"
                yield Finding(tree.span(kind), message, (tree.without_call(kind),))


def _incomplete_models(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the models of a run without a class, or without the path of the weights that it needs."""
    is_whole = any(module.startswith("opencompass.") for module, _ in tree.imported.values())
    lists = [value for name, value in tree.named_values if name == "models" and isinstance(value, ast.List)]
    for model in (each for value in lists for each in value.elts if isinstance(each, ast.Call)):
        given = values_of(model)
        missing = {"type", "path"} - given.keys() - tree.keys_set_later if None not in given else set()
        kind = given.get("type")
        if "type" in missing and is_whole and is_mapping(model):
            yield Finding(tree.span(model.func), "a model needs a `type`, its class")
        elif "path" in missing and isinstance(kind, ast.Name) and kind.id in _WITH_PATH & tree.classes:
            message = f"a `{kind.id}` needs a `path`, that of its weights"
            yield Finding(tree.span(model.func), message)


def _inferences(tree: ConfigurationTree) -> set[int]:
    """Return the ids of the `infer_cfg` of datasets with a retriever of OpenCompass.

    With one of the project, an inferencer may not be needed.
    """
    # A value that a variable had before may be a part of the last one.
    calls = [value for each in tree.values_at("infer_cfg") for value in tree.assigned_to(each)[-1:]]
    return {id(each) for each in calls if isinstance(each, ast.Call) and _has_known_retriever(each)}


def _has_known_retriever(node: ast.Call) -> bool:
    retriever = argument(node, "retriever")
    named = (each for each in ast.walk(retriever) if isinstance(each, ast.Name)) if retriever else ()
    return any(each.id in KNOWN_CLASSES for each in named)


def _typos(node: ast.Call, message: str, known: Collection[str], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the keys of a mapping that are typos of one of the `known` that it lacks."""
    keys = {keyword.arg for keyword in node.keywords}
    for keyword in (each for each in node.keywords if each.arg not in known):
        free = [each for each in known if each not in keys]
        longer = [
            each
            for each in free
            if len(keyword.arg or "") >= _MIN_LONG and each.startswith(keyword.arg or "")
        ]
        meant = longer[0] if len(longer) == 1 else only_typo(keyword.arg or "", free)
        if meant is not None:
            yield Finding.suggest(places.span(keyword), f"{message} `{keyword.arg}`", meant, preferred=True)


def _repeated_keys(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the repeated keys of a call that its last one overrides."""
    for node in tree.all_of(ast.Call):
        times = Counter(keyword.arg for keyword in node.keywords)
        for keyword in node.keywords:
            if keyword.arg is not None and times.pop(keyword.arg, 0) > 1:
                is_literal = tree.text.startswith("{", tree.span(node).start)
                why = "and the first value is lost" if is_literal else "which Python refuses"
                message = f"`{keyword.arg}` occurs twice, {why}"
                yield Finding(tree.span(keyword), message)


def _repeated_labels(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the repeated labels of a template that the last one overrides."""
    for labels in tree.values_at("template"):
        seen = set()
        for key in labels.keys if isinstance(labels, ast.Dict) else ():
            if isinstance(key, ast.Constant):
                if key.value in seen:
                    message = f"the label `{ast.unparse(key)}` occurs twice, and the first one is lost"
                    yield Finding(tree.span(key), message)
                seen.add(key.value)


def _lost_keys(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the keys that the configuration reads of a mapping which does not have them."""
    own = {*tree.nodes}
    for node, (key, known) in tree.interpreter.lost.items():
        if node not in own:
            continue
        span = tree.span(node.slice)
        message = f"a mapping that this reads has no `{key}`"
        meant = nearest(key, known)
        fix = Fix.change_to(Span(span.start + 1, span.end - 1), meant) if meant else None
        is_literal = text_of(node.slice) == key and len(key) + len("''") == span.end - span.start
        suggestion = f"; did you mean `{meant}`?" if meant else f": only {in_code(known)}"
        yield Finding(span, message + suggestion, (fix,) if fix and is_literal else ())


def _mistaken(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the variables that are passed for a key of a dataset and are the mapping of another key."""
    keys = {name: keys_of(value) for name, value in tree.only_values.items()}
    for keyword in tree.keywords:
        own = _CONFIGURATIONS.get(keyword.arg or "")
        if own is None or not isinstance(keyword.value, ast.Name):
            continue
        name = keyword.value.id
        given = keys.get(name, frozenset())
        other = next((each for each, marks in _CONFIGURATIONS.items() if given & marks), None)
        if other is None or given & own:
            continue
        message = f"`{keyword.arg}` gets a mapping with the keys of a `{other}`"
        meant = name.replace(other, keyword.arg or "")
        span = tree.span(keyword.value)
        if meant != name and keys.get(meant, frozenset()) & own:
            yield Finding.suggest(span, message, meant, preferred=True)
        else:
            yield Finding(span, message)


def _misnamed(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the keys of a dataset whose values are the mapping of a key that it lacks."""
    for node in tree.mappings:
        keys = keys_of(node)
        if not {"type", "abbr"} <= keys or not keys & {*_CONFIGURATIONS}:
            continue
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in _CONFIGURATIONS:
                continue
            marks = keys_of(tree.resolved(keyword.value))
            meant = [each for each, own in _CONFIGURATIONS.items() if marks & own and each not in keys]
            if len(meant) == 1 and not is_typo(keyword.arg, meant[0]):
                message = f"`{keyword.arg}` is the `{meant[0]}`, which this dataset lacks"
                yield Finding.suggest(tree.span(keyword), message, meant[0], preferred=True)


def _of_runs(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the misspelled keys of the classes of a run."""
    for mapping in tree.mappings:
        kind = argument(mapping, "type")
        known = _OF_RUNS.get(last_name(kind), ()) if kind is not None else ()
        if kind is not None and known:
            yield from _typos(mapping, f"`{ast.unparse(kind)}` has no argument", known, tree.places)


def _odd_keys(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the keys in a table of mappings that are typos of a key which all others have."""
    for node in tree.nodes:
        rows = _rows(node)
        keys = [keys_of(each) for each in rows]
        for index, name, meant in odd_keys(keys) if all(keys) else ():
            place = _key_place(rows[index], name, tree)
            if place is not None:
                message = f"no other mapping here has `{name}`; did you mean `{meant}`?"
                fix = Fix.change_to(place, meant, preferred=True)
                yield Finding(place, message, (fix,), severity="warning")


def _rows(node: ast.AST) -> list[ast.expr]:
    """Return the values of a table: a list, or a mapping."""
    match node:
        case ast.List(elts=values) | ast.Dict(values=values):
            return values
        case ast.Call(func=ast.Name(id="dict")):
            return [each.value for each in node.keywords]
    return []


def _key_place(mapping: ast.expr, name: str, tree: ConfigurationTree) -> Span | None:
    if isinstance(mapping, ast.Call):
        return next((tree.span(each) for each in mapping.keywords if each.arg == name), None)
    keys = mapping.keys if isinstance(mapping, ast.Dict) else []
    found = [each for each in keys if isinstance(each, ast.Constant) and each.value == name]
    return tree.places.inside_quotes(found[0]) if found else None


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


def _read_bases(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield `read_base` without its parentheses, which MMEngine refuses."""
    for node in tree.all_of(ast.With):
        for item in node.items:
            if isinstance(item.context_expr, ast.Name) and item.context_expr.id == "read_base":
                span = tree.span(item.context_expr)
                message = "`read_base` must be called: `with read_base():`"
                yield Finding(span, message, (Fix.insert(span.end, "()"),))


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
                fixes = (Fix.put_into_list(span, preferred=False),) if len(values) == 1 else ()
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
    for name, (module, _) in tree.imported.items():
        part = next((each for each in module.split(".") if each in _KINDS), None)
        if part is not None and module.startswith("opencompass.") and name not in KNOWN_CLASSES:
            imported[name] = _KINDS[part]
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


KEY_CHECKS: Final = (
    *(_wrong_keys, _in_evaluators, _called_classes, _incomplete_models, _repeated_keys, _repeated_labels),
    *(_lost_keys, _mistaken, _misnamed, _odd_keys, _of_runs),
)
"""The checks of keys that OpenCompass does not read, needs, or reads of other mappings."""
PART_CHECKS: Final = (
    *(_read_bases, _relative_imports, _mappings, _limits, _tasks, _unread_evaluations),
    *(_other_parts, _keys_of_lists, _misspelled_evaluators),
)
"""The checks of what fails, or is lost, when OpenCompass runs a configuration."""
