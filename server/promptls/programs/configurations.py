"""Checks an OpenCompass configuration in Python; nothing of it is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from promptls.convert.opencompass import datasets_in, models_among
from promptls.convert.python_interpreter import (
    Files,
    Interpreter,
    Names,
    containers_in,
    module_text,
    parse_configuration,
)
from promptls.convert.python_values import MixedText, PythonSymbol, TextPiece
from promptls.dialects.opencompass.vocabulary import MODEL_CLASSES
from promptls.lint.registry import RULES
from promptls.lint.rule import EVALUATION_KINDS, File, Finding, Rule
from promptls.lint.rules.jinja.named_templates import unresolved_import
from promptls.lint.rules.opencompass.invalid_evaluation_prompt import invalid_evaluation_prompt
from promptls.lint.rules.opencompass.invalid_ppl_template import invalid_ppl_template
from promptls.lint.rules.opencompass.template_fields import unknown_field
from promptls.lint.rules.opencompass.unknown_names import unknown_evaluation_key
from promptls.lint.rules.parts.unanalyzed_files import unrecognized_prompt
from promptls.lint.runner import severity_of
from promptls.programs.configuration_keys import KEY_CHECKS, PART_CHECKS
from promptls.programs.configuration_names import (
    absent_classes,
    absent_names,
    missing_imports,
    undefined_names,
)
from promptls.programs.configuration_text import UNKNOWN, PositionMap, WrittenDataset, written_dataset
from promptls.programs.configuration_tree import KNOWN_CLASSES, ConfigurationTree, write_as_calls
from promptls.programs.configuration_values import RUN_CHECKS, VALUE_CHECKS, hidden_options
from promptls.programs.dataset_classes import class_problems
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.settings.project import Project
from promptls.syntax.python_places import NOT_PYTHON, PythonPlaces, parse_quietly
from promptls.syntax.source import Source
from promptls.text.errors import UserError
from promptls.text.positions import Span
from promptls.text.suggest import is_typo
from promptls.workspace.workspace import Workspace

_MARKS: Final = (
    "infer_cfg",
    "reader_cfg",
    "opencompass.openicl",
    "meta_template",
    "opencompass.models",
    "read_base",
)
_KEYS: Final = ("reader_cfg", "infer_cfg")
_MODEL_KEYS: Final = ("type", "meta_template", "batch_size", "max_out_len", "max_seq_len", "run_cfg")
"""The keys of a model whose values are checked."""
_MAX_PROMPTS: Final = 400
_MAX_EVALUATORS: Final = 4
"""How deep evaluators contain others."""
_CHECKS: Final = (*KEY_CHECKS, undefined_names, *RUN_CHECKS, *VALUE_CHECKS, *PART_CHECKS, class_problems)
"""The checks of a program; the most specific come first."""
_RULES: Final = tuple(rule for rule in RULES if rule.kinds == EVALUATION_KINDS)


def is_configuration(text: str) -> bool:
    """Return whether a Python text may be a configuration with prompts.

    If not, it is not parsed.
    """
    return any(mark in text for mark in _MARKS)


def findings_in_configuration(text: str, files: Files, project: Project) -> tuple[Finding, ...] | None:
    """Return the diagnostics in the configuration's own text, with rule and severity, in text order.

    None if the text is not a configuration. Findings in imported files are reported in those files.
    """
    interpreter = Interpreter(files)
    read = _read(text, interpreter) if is_configuration(text) else None
    if read is None:
        return None
    module, names = read
    tree = ConfigurationTree(module, PythonPlaces(text), names, interpreter, files)
    positions = PositionMap(tree.places, module)
    prompts = [_without_own(tree, each) for each in islice(_prompts(names), _MAX_PROMPTS)]
    in_prompts = [*_found_in_prompts(prompts, interpreter, positions, project)]
    judges = _of(unknown_field, _blind_judges(names, positions), project)
    in_prompts += _elsewhere(judges, _spans(in_prompts, unknown_field))
    in_program = [finding for check in _CHECKS for finding in check(tree)]
    if not _spans(in_prompts, invalid_ppl_template):
        # Otherwise, the text of one label may be that of another, in place of the text with its option.
        in_program += hidden_options(tree)
    keys = _spans(in_prompts, unknown_evaluation_key, invalid_evaluation_prompt)
    in_program = [*_elsewhere(in_program, keys)]
    absent = [*absent_names(tree), *absent_classes(tree)]
    if not (prompts or interpreter.missing or in_program or absent):
        return None
    is_empty = all("models" in each and "meta_template" not in each["models"][0] for each in prompts)
    imports = [*absent, *missing_imports(tree, is_empty=is_empty)]
    found = (
        *_without_consequences(in_prompts, in_program, text),
        *_of(unknown_evaluation_key, in_program, project),
        *_of(unresolved_import, imports, project),
    )
    return tuple(sorted(dict.fromkeys(found), key=lambda finding: (finding.span, finding.rule)))


def _spans(findings: Iterable[Finding], *rules: Rule) -> set[Span]:
    """Return the spans of the findings of the rules."""
    names = {rule.name for rule in rules}
    return {each.span for each in findings if each.rule in names}


def _elsewhere(findings: Iterable[Finding], reported: set[Span]) -> Iterable[Finding]:
    """Return the first finding at each span that is not `reported`; it is the most specific one."""
    first = {each.span: each for each in reversed([*findings]) if each.span not in reported}
    return reversed(first.values())


def _read(text: str, interpreter: Interpreter) -> tuple[ast.Module, Names] | None:
    """Return the syntax tree of a configuration and its names; None if it cannot be read."""
    try:
        own = parse_configuration(text)
        write_as_calls(own)
        return own, interpreter.read(own)
    except UserError:
        return None


def _of(rule: Rule, findings: Iterable[Finding], project: Project) -> list[Finding]:
    """Return the findings as those of a rule; nothing if the project's settings disable it."""
    severity = severity_of(rule, project)
    return [each.of(rule.name, each.severity or severity) for each in findings] if severity else []


def _found_in_prompts(
    prompts: Iterable[Mapping[str, Any]], interpreter: Interpreter, positions: PositionMap, project: Project
) -> Iterator[Finding]:
    """Yield what the rules for evaluation prompts find in the parts of prompts that the file itself has."""
    checked: set[tuple[object, ...]] = set()
    for prompt in prompts:
        if any(id(each) in interpreter.doubted for each in containers_in(prompt)):
            continue
        try:
            written = written_dataset(prompt)
        except RecursionError:
            continue
        key = (written.text, *(id(piece.node) for text in written.texts for piece in text.pieces))
        if key not in checked and positions.has_part_of(written):
            checked.add(key)
            yield from _found(written, project, positions)


def _without_consequences(
    in_prompts: Iterable[Finding], in_program: Iterable[Finding], text: str
) -> Iterator[Finding]:
    """Yield the findings in prompts that no finding in the program explains.

    One explains those at the key of its value, and those about a field inside of its text, which lacks an
    `f`, or about a column that it names, after which a comma is missing.
    """
    spans = [each.span for each in in_program]
    values = {span.start for span in spans}
    for finding in in_prompts:
        start, end = finding.span
        quoted = re.compile(rf"[\"']{re.escape(text[start:end].strip('{}'))}[\"']")
        is_explained = end + len("=") in values or (
            finding.rule == unknown_field.name
            and any(
                (span.start < start and end < span.end) or quoted.search(text, span.start, span.end)
                for span in spans
            )
        )
        if not is_explained:
            yield finding


def _prompts(names: Names) -> Iterator[Mapping[str, Any]]:
    """Yield the prompts to check: those of datasets, and the models."""
    for dataset in datasets_in(names):
        yield {key: _without_none(dataset[key]) for key in _KEYS if key in dataset}
        for template, kind in _judge_templates(dataset.get("eval_cfg")):
            added = _JUDGE_COLUMNS if kind == _JUDGES[0] else ()
            reader = _judge_reader(dataset.get("reader_cfg"))
            inputs = {"input_keys": [*added]} if reader and added else {}
            yield {**reader, **inputs, "infer_cfg": {"prompt_template": template, **_JUDGED}}
    models = {id(model.get("meta_template", model)): model for model in models_among(names)}
    for model in models.values():
        yield {"models": [{key: value if key in _MODEL_KEYS else None for key, value in model.items()}]}


_JUDGE_COLUMNS: Final = ("prediction", "reference", "obj_gold")
"""The columns that `GenericLLMEvaluator` adds to the rows for its judge."""
_JUDGES: Final = ("GenericLLMEvaluator", "LMEvaluator")
"""The evaluators whose judge reads the answer of a model as `{prediction}`, or under a longer name."""
_FIELD: Final = re.compile(r"\{(\w+)\}", re.ASCII)
_JUDGED: Final = {"retriever": {"type": "ZeroRetriever"}, "inferencer": {"type": "GenInferencer"}}


def _judge_reader(reader: Any) -> dict[str, Any]:
    """Return the reader of a judge's prompt, in which the right answer is a column like any other."""
    columns = reader.get("input_columns") if isinstance(reader, dict) else None
    if not isinstance(columns, list | tuple):
        return {}
    output = reader.get("output_column")
    return {"reader_cfg": {"input_columns": [*columns, *([output] if isinstance(output, str) else [])]}}


def _judge_templates(value: Any, depth: int = 0) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the templates of an evaluator's prompts for its judge, each with the class of the evaluator."""
    if not isinstance(value, dict) or depth > _MAX_EVALUATORS:
        return
    template = value.get("prompt_template")
    if isinstance(template, dict) and (
        isinstance(template.get("template"), dict | str) or isinstance(template.get("messages"), list)
    ):
        yield template, str(value.get("type")).rpartition(".")[2]
    for each in value.values():
        yield from _judge_templates(each, depth + 1)


def _blind_judges(names: Names, positions: PositionMap) -> Iterator[Finding]:
    """Yield the right answer, or an unknown field, in a judge's prompt that shows no answer of the model.

    Without the right answer, only a misspelled field shows that the judge should see that of the model.
    """
    for dataset in datasets_in(names):
        reader = dataset.get("reader_cfg")
        columns = _judge_reader(reader).get("reader_cfg", {}).get("input_columns", [])
        answer = reader.get("output_column") if isinstance(reader, dict) else None
        for template, kind in _judge_templates(dataset.get("eval_cfg")):
            try:
                written = written_dataset({"prompt_template": template})
            except RecursionError:
                continue
            fields = [*_FIELD.finditer(written.text)]
            shown = {field[1] for field in fields}
            if kind not in _JUDGES or UNKNOWN in written.text:
                continue
            plural = {name for name in shown if name.isalpha() and is_typo(name, "prediction")}
            if any(name.startswith("prediction") for name in shown - plural):
                continue
            others = [field for field in fields if field[1] not in {*columns, *_JUDGE_COLUMNS}]
            misspelled = [field for field in others if is_typo(field[1], "prediction")]
            if answer not in shown and not misspelled:
                continue
            named = misspelled or (others if len(others) == 1 else [])
            field = next(each for each in (*named, *fields) if each in named or each[1] == answer)
            message = "the judge does not see the answer of the model, which is `{prediction}`"
            mapped = positions.finding(Finding(Span(*field.span()), message), written)
            if mapped is not None:
                yield mapped


def _without_none(value: Any) -> Any:
    """Return an `infer_cfg` in which templates that are None become unknown: the importing file sets them."""
    if not isinstance(value, dict):
        return value
    return {
        key: {**each, "template": PythonSymbol("template")}
        if isinstance(each, dict) and each.get("template", "") is None
        else each
        for key, each in value.items()
    }


_ROWS: Final = "fix_id_list"
_ROWS_MODULE: Final = "opencompass.openicl.icl_retriever.icl_fix_k_retriever"
"""The module of `FixKRetriever`, in whose source only OpenCompass 0.1 does not mention the rows."""


def _of_unknown_class(mapping: dict[str, Any]) -> dict[str, Any]:
    return {**mapping, "type": MixedText.of([TextPiece(str(mapping["type"]), is_symbol=True)])}


def _without_own(tree: ConfigurationTree, prompt: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prompt with user-defined retrievers, inferencers and templates marked as unknown."""
    infer = prompt.get("infer_cfg")
    if not isinstance(infer, dict):
        models = prompt.get("models", ())
        known = [
            _of_unknown_class(each) if _is_other_model(tree, each.get("type")) else each for each in models
        ]
        return {**prompt, "models": known} if models else dict(prompt)
    infer = _with_rows(tree, infer)
    changed = {
        key: _of_unknown_class(each)
        for key, each in infer.items()
        if isinstance(each, dict)
        and isinstance(each.get("type"), PythonSymbol)
        and _is_own(tree, each["type"])
    }
    return {**prompt, "infer_cfg": {**infer, **changed}}


def _with_rows(tree: ConfigurationTree, infer: dict[str, Any]) -> dict[str, Any]:
    """Return an `infer_cfg` whose retriever has its rows, also where OpenCompass 0.1 is checked out.

    There, the inferencer takes them.
    """
    retriever, inferencer = infer.get("retriever"), infer.get("inferencer")
    if not isinstance(retriever, dict) or not isinstance(inferencer, dict) or _ROWS not in inferencer:
        return infer
    if str(retriever.get("type")).rpartition(".")[2] != "FixKRetriever":
        return infer
    source = module_text(tree.files, _ROWS_MODULE)
    if source is None or _ROWS in source:
        return infer
    return {**infer, "retriever": {_ROWS: inferencer[_ROWS], **retriever}}


def _is_other_model(tree: ConfigurationTree, kind: object) -> bool:
    """Return whether a model's class is not one of OpenCompass that promptls knows."""
    if not isinstance(kind, PythonSymbol):
        return False
    is_known = kind.text.rpartition(".")[2] in MODEL_CLASSES
    module = _module_of(tree, kind.text.partition(".")[0]) or "opencompass."
    return not is_known or not module.startswith("opencompass.")


def _is_own(tree: ConfigurationTree, kind: PythonSymbol) -> bool:
    """Return whether the class is defined outside of OpenCompass, or in an available checkout of it."""
    name = kind.text.rpartition(".")[2]
    module = _module_of(tree, name)
    if module is None or name in KNOWN_CLASSES:
        return False
    is_outside = not module.startswith("opencompass.")
    return is_outside or re.search(rf"\b{name}\b", module_text(tree.files, module) or "") is not None


def _module_of(tree: ConfigurationTree, name: str) -> str | None:
    """Return the module that a configuration imports a name from."""
    return tree.imported[name][0] if name in tree.imported else None


def _found(written: WrittenDataset, project: Project, positions: PositionMap) -> Iterator[Finding]:
    template = Template(Source.of(written.text))
    if template.source.yaml.problems:
        return  # It has more brackets than the parser accepts.
    file = File(Workspace().snapshot, "", template, Kind.EVALUATION, project)
    for rule in _RULES:
        severity = severity_of(rule, project)
        if severity is None:
            continue
        for finding in rule.check(file):
            if finding.severity == "information" and rule.name == "unknown-field":
                continue  # The dataset class may define columns that are not named here.
            mapped = positions.finding(finding, written)
            if mapped is not None:
                yield mapped.of(rule.name, finding.severity or severity)


def broken_configuration(text: str, project: Project) -> Finding | None:
    """Return the syntax error of a configuration that Python cannot parse."""
    severity = severity_of(unrecognized_prompt, project)
    if severity is None or not is_configuration(text):
        return None
    try:
        parse_quietly(text)
    except SyntaxError as error:
        line = Source.of(text).line_span(min(max(error.lineno or 1, 1) - 1, text.count("\n")))
        message = f"this looks like an OpenCompass configuration, but it is not Python: {error.msg}"
        return Finding(line, message, rule=unrecognized_prompt.name, severity="error")
    except NOT_PYTHON:
        pass  # too deep, or with null characters
    return None
