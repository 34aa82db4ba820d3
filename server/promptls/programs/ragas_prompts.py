"""Diagnostics for prompt objects and prompt classes of Ragas in a program."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from promptls.dialects.ragas.prompt_object import OUTPUT_TYPES, PROMPT_KEYS
from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.metric_prompts import findings_in_braces, findings_in_metric_classes
from promptls.programs.program import (
    Program,
    change_literal,
    class_values,
    imported_objects,
    is_open,
    literal_texts,
    suggest_literal,
    type_error,
    unknown_argument,
    unknown_arguments,
)
from promptls.syntax.python_places import Function, argument, dict_items, text_of
from promptls.text.format import in_code, lower_first
from promptls.text.suggest import is_typo, nearest

_PROMPT_CLASSES: Final = frozenset({"FewShotPydanticPrompt", "ImageTextPrompt", "PydanticPrompt"})
_ATTRIBUTES: Final = ("instruction", "input_model", "output_model", "examples")
"""The class attributes of a prompt that Ragas reads."""
_OPTIONAL: Final = ("Optional", "None")
_TYPES: Final[Mapping[str, type]] = {each.__name__: each for each in (str, int, float, bool, list, dict)}
"""The types with which literals are compared, by the names in annotations in small letters."""
_KEYWORDS: Final = frozenset({*PROMPT_KEYS, "ragas_version"})
_GENERATE: Final = frozenset({"llm", "data", "n", "temperature", "stop", "callbacks", "retries_left"})
"""The parameters of `generate` and `generate_multiple` of a prompt."""
_MODEL_METHODS: Final = ("model_", "dict", "json", "copy")


class _Model(NamedTuple):
    """A class of values with fields: the annotations of all of them, and those without a default."""

    fields: Mapping[str, ast.expr]
    required: tuple[str, ...]


def findings_in_prompt_classes(program: Program) -> Iterator[Finding]:
    """Yield the wrong attributes and examples of prompt classes, and the wrong inputs of their calls."""
    classes = program.classes
    models = _models(program)
    if classes or "generate" in program.text:
        models |= imported_objects(program, _models)
    outputs: dict[str, frozenset[str]] = {}
    inputs: dict[str, str] = {}
    for node, base in _prompt_classes(program):
        output = base.slice.elts[-1] if isinstance(base.slice, ast.Tuple) else None
        own = {each.name for each in node.body if isinstance(each, Function)}
        if isinstance(output, ast.Name) and output.id in models and "generate" not in own:
            outputs[node.name] = frozenset(models[output.id].fields)
            inputs[node.name] = ast.unparse(base.slice).strip("()").partition(",")[0]
        yield from _attributes(program, node)
        yield from _other_models(program, node, base.slice, models)
        for target, value in class_values(node):
            for example in value.elts if target.id == "examples" and isinstance(value, ast.List) else ():
                yield from _pair(program, example, base.slice, models)
    for call in program.calls if models else ():
        if isinstance(call.func, ast.Name) and call.func.id in models:
            yield from _fields(program, call, models[call.func.id])
    yield from findings_in_metric_classes(program)
    for each in program.nodes if outputs else ():
        yield from _generated(program, each, outputs)
        expected = inputs.get(prompt_class(program, each))
        if isinstance(each, ast.Call) and expected in models:
            yield from _other_data(program, each, expected, models)


def _prompt_classes(program: Program) -> Iterator[tuple[ast.ClassDef, ast.Subscript]]:
    """Yield the prompt classes at the top level, each with its base class of Ragas."""
    for node in program.classes:
        base = next((each for each in node.bases if isinstance(each, ast.Subscript)), None)
        if base is not None and program.library_name(base.value) in _PROMPT_CLASSES:
            yield node, base


def prompt_class(program: Program, call: ast.AST) -> str:
    """Return the prompt class of the program whose `generate` a call calls; empty for other calls.

    The prompt may be an attribute of a metric, also as a field of a dataclass.
    """
    match call:
        case ast.Call(func=ast.Attribute(value=owner, attr="generate")):
            made = program.scope_of(owner).resolved(owner)
            kind = made.func if isinstance(made, ast.Call) else None
            if isinstance(made, ast.Call) and isinstance(kind, ast.Name) and kind.id == "field":
                kind = argument(made, "default_factory")
            names = {node.name for node, _ in _prompt_classes(program)}
            return kind.id if isinstance(kind, ast.Name) and kind.id in names else ""
    return ""


def _generated(program: Program, node: ast.AST, outputs: Mapping[str, frozenset[str]]) -> Iterator[Finding]:
    """Yield wrong arguments of `generate`, and a field that its result does not have.

    `outputs` are the fields of the results by the names of the prompt classes.
    """
    match node:
        case ast.Call() if prompt_class(program, node) in outputs and not is_open(node):
            yield from unknown_arguments(program, node, "`generate` has no argument `{}`", sorted(_GENERATE))
        case ast.Attribute(value=ast.Name() as output, attr=attribute):
            made = program.resolved(output)
            known = outputs.get(prompt_class(program, made.value)) if isinstance(made, ast.Await) else None
            if known is None or attribute in known or attribute.startswith(("_", *_MODEL_METHODS)):
                return
            meant = nearest(attribute, known)
            message = f"the output of the prompt has no `{attribute}`"
            if meant is None:
                message = f"the output of the prompt has {in_code(sorted(known))}, and no `{attribute}`"
            span = program.places.attribute_span(node)
            yield Finding.suggest(span, message, meant, preferred=True)


def _other_data(
    program: Program, call: ast.Call, expected: str, models: Mapping[str, _Model]
) -> Iterator[Finding]:
    """Yield the object that a prompt is given in place of its input."""
    given = argument(call, "data")
    made = program.resolved(given)
    name = ast.unparse(made.func) if isinstance(made, ast.Call) else ""
    if given is not None and name != expected and name in models:
        yield Finding(program.span(given), f"this is a `{name}` in place of a `{expected}`")


def _attributes(program: Program, node: ast.ClassDef) -> Iterator[Finding]:
    """Yield the misspelled attributes of a prompt class."""
    names = {target.id: target for target, _ in class_values(node)}
    missing = [each for each in _ATTRIBUTES if each not in names] if len(node.bases) == 1 else []
    for name, place in names.items() if missing else ():
        meant = next((each for each in missing if is_typo(name, each)), None)
        if meant is not None:
            missing.remove(meant)
            message = f"Ragas does not read `{name}` of a prompt"
            yield Finding.suggest(program.span(place), message, meant, preferred=True)
    lacked = [each for each in missing if each in {"input_model", "output_model"}]
    is_base = any(node.name in map(ast.unparse, each.bases) for each in program.classes)
    if len(lacked) == 1 and not is_base:
        yield Finding(program.span(node.bases[0]), f"the prompt has no {in_code(lacked)}")


def _other_models(
    program: Program, node: ast.ClassDef, types: ast.expr, models: Mapping[str, _Model]
) -> Iterator[Finding]:
    """Yield the models of a prompt class that are not those of its base class."""
    kinds = types.elts if isinstance(types, ast.Tuple) else []
    pairs = dict(zip(("input_model", "output_model"), map(ast.unparse, kinds), strict=False))
    for target, value in class_values(node):
        expected, given = pairs.get(target.id, ""), ast.unparse(value)
        if given != expected and {given, expected} <= models.keys():
            message = f"the base class has `{expected}` as its `{target.id}`"
            yield Finding(program.span(value), message, severity="warning")


def _models(program: Program) -> dict[str, _Model]:
    """Return the subclasses of pydantic's `BaseModel` that only declare fields, without aliases."""
    bases = {
        own: "v1" in module
        for own, (module, alias) in program.imported.items()
        if "pydantic" in module and alias.name == "BaseModel"
    }
    found: dict[str, _Model] = {}
    for node in program.classes:
        if len(node.bases) != 1 or not isinstance(node.bases[0], ast.Name) or node.bases[0].id not in bases:
            continue
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        others = [each for each in node.body if not isinstance(each, ast.AnnAssign | ast.Expr)]
        if others or node.keywords or "alias" in ast.unparse(node):
            continue
        named = {each.target.id: each for each in fields if isinstance(each.target, ast.Name)}
        has_defaults = bases[node.bases[0].id]
        required = tuple(
            name for name, each in named.items() if _is_required(each, has_defaults=has_defaults)
        )
        found[node.name] = _Model({name: each.annotation for name, each in named.items()}, required)
    return found


def _is_required(field: ast.AnnAssign, *, has_defaults: bool) -> bool:
    """Return whether a field must be given; before pydantic 2, one that may be None has a default."""
    if has_defaults and any(mark in ast.unparse(field.annotation) for mark in _OPTIONAL):
        return False
    if field.value is None:
        return True
    if not isinstance(field.value, ast.Call) or ast.unparse(field.value.func) not in {
        "Field",
        "pydantic.Field",
    }:
        return False
    has_default = any(keyword.arg in {None, "default", "default_factory"} for keyword in field.value.keywords)
    first = next(iter(field.value.args), ast.Constant(...))
    return not has_default and isinstance(first, ast.Constant) and first.value is ...


def _fields(program: Program, call: ast.Call, model: _Model) -> Iterator[Finding]:
    """Yield the fields that an example misspells or lacks, so that the class cannot be made."""
    given = [keyword.arg for keyword in call.keywords]
    if call.args or None in given:
        return
    name = ast.unparse(call.func)
    missing = [each for each in model.required if each not in given]
    for keyword in call.keywords if missing else ():
        meant = nearest(keyword.arg or "", missing) if keyword.arg not in model.fields else None
        if meant is not None:
            missing.remove(meant)
            message = f"`{name}` has no field `{keyword.arg}`"
            yield Finding.suggest(program.span(keyword), message, meant, preferred=True)
    if missing:
        yield Finding(program.span(call.func), f"`{name}` lacks {in_code(missing)}")
    for keyword in call.keywords:
        if reason := _mismatch(model.fields.get(keyword.arg or ""), keyword.value):
            yield Finding(program.span(keyword.value), f"`{keyword.arg}` of `{name}`: {reason}")


def _mismatch(annotation: ast.expr | None, node: ast.expr) -> str:
    """Return why a literal is not of the type of its field; empty if it may be."""
    match annotation:
        case ast.Subscript(value=ast.Name("Optional") | ast.Attribute(attr="Optional")):
            annotation = annotation.slice
    root = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    declared = _TYPES.get(ast.unparse(root).rpartition(".")[2].lower()) if root is not None else None
    value: object = None
    match node:
        case ast.Constant(value=str() | int() | float() as value):
            pass
        case ast.List():
            value = []
        case ast.Dict():
            value = {}
    error = None if declared is None or value is None else type_error(declared, value)
    return "" if error is None else lower_first(error["msg"])


def _pair(
    program: Program, example: ast.expr, types: ast.expr, models: Mapping[str, _Model]
) -> Iterator[Finding]:
    """Yield why an example is no pair of an input and an output."""
    names = [ast.unparse(each) for each in types.elts] if isinstance(types, ast.Tuple) else []
    if len(names) != len(("input", "output")) or len(names) != len({*names}):
        return
    values = example.elts if isinstance(example, ast.Tuple) else [example]
    made = [ast.unparse(each.func) if isinstance(each, ast.Call) else "" for each in values]
    if made == names[::-1] or (made[:1] == made and made[0] in names):
        message = f"an example is a pair of input and output: `{names[0]}` comes first"
        yield Finding(program.span(example), message)
        return
    for name, expected, value in zip(made, names, values, strict=False):
        if isinstance(value, ast.Dict) and expected in models:
            yield Finding(program.span(value), f"this is a dict in place of a `{expected}`")
        if name != expected and name in models:
            yield Finding(program.span(value), f"this is a `{name}` in place of a `{expected}`")


def findings_in_prompt_objects(program: Program) -> Iterator[Finding]:
    """Yield the wrong arguments of prompt objects, and those with which they are formatted."""
    known = _input_keys(program)
    for call in program.calls:
        yield from _prompt(program, call)
        yield from _format(program, call, known)
        yield from _unfilled(program, call, known)
        match call.func:
            case ast.Attribute(value=ast.Name(id=name), attr="save") if name in known:
                yield from unknown_arguments(program, call, "`save` has no argument `{}`", ["cache_dir"])


def _is_prompt_object(program: Program, call: ast.Call) -> bool:
    """Return whether a call makes a prompt object; later releases of Ragas have another class `Prompt`."""
    package, called = program.meaning(call.func)
    names = {keyword.arg for keyword in call.keywords}
    is_ours = package == "promptls" or bool(names & {"input_keys", "output_key"})
    has_instruction = any(name == "instruction" or is_typo(name or "", "instruction") for name in names)
    return called == "Prompt" and has_instruction and is_ours


def _prompt(program: Program, call: ast.Call) -> Iterator[Finding]:
    if program.library_name(call.func) != "Prompt":
        return
    given = {keyword.arg: keyword for keyword in call.keywords}
    written = {name for name, each in given.items() if ast.unparse(each.value) != "None"}
    if {"raw_template", "template_path"} <= written:
        message = "a prompt has one template: `raw_template` or `template_path`"
        yield Finding(program.span(given["template_path"]), message)
    if is_open(call) or call.args or not _is_prompt_object(program, call):
        return
    yield from unknown_arguments(program, call, "`Prompt` ignores the argument `{}`", _KEYWORDS)
    instruction = argument(call, "instruction")
    if isinstance(instruction, ast.Constant) and instruction.value == "":
        yield Finding(program.span(instruction), "Ragas refuses a prompt without an instruction")
    kind = argument(call, "output_type")
    if isinstance(kind, ast.Constant) and (meant := nearest(str(kind.value), OUTPUT_TYPES)) not in {
        None,
        kind.value,
    }:
        message = f"releases of Ragas from 0.1.6 on refuse the type `{kind.value!s}`"
        yield suggest_literal(program, kind, message, meant, severity="warning")
    keys = literal_texts(argument(call, "input_keys"))
    if keys:
        yield from findings_in_braces(program, instruction, keys)
    yield from _keys(program, call)
    yield from _literal_examples(program, call)


def _keys(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield `input_keys` that are no list, or a list without a comma, and an `output_key` that is a list."""
    inputs = argument(call, "input_keys")
    if isinstance(inputs, ast.Constant) and isinstance(inputs.value, str):
        span = program.span(inputs)
        names = ", ".join(f'"{each.strip()}"' for each in inputs.value.split(","))
        fix = Fix("Write a list", (Edit(span, f"[{names}]"),), preferred=True)
        yield Finding(span, "`input_keys` must be a list", (fix,))
    output = argument(call, "output_key")
    if isinstance(output, ast.List):
        fixes = tuple(Fix.change_to(program.span(output), ast.unparse(each)) for each in output.elts)
        yield Finding(program.span(output), "`output_key` must be a text", fixes if len(fixes) == 1 else ())
    for key in inputs.elts if isinstance(inputs, ast.List) else ():
        place = program.places.missing_comma(key)
        if place is not None and isinstance(key, ast.Constant):
            fix = Fix("Insert a comma", (Edit(place, ","),), preferred=True)
            message = f"without a comma, this is one key: `{key.value!s}`"
            yield Finding(program.span(key), message, (fix,))


def _literal_examples(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the literal examples of a prompt object that lack a literal key, as each of them fails."""
    inputs, output = argument(call, "input_keys"), argument(call, "output_key")
    listed = inputs.elts if isinstance(inputs, ast.List) else []
    if any(program.places.missing_comma(key) is not None for key in listed):
        return
    keys = [*(literal_texts(inputs) or ()), *(literal_texts(ast.List([output])) or () if output else ())]
    examples = argument(call, "examples")
    listed = [*listed, *([output] if output is not None else [])]
    rows = [each for each in getattr(examples, "elts", ()) if isinstance(each, ast.Dict)]
    for key in listed:
        meant = _in_all_examples(key, keys, rows)
        if meant is not None and isinstance(key, ast.Constant):
            keys.remove(key.value)
            fix = change_literal(program, key, meant)
            message = f"no example has `{key.value!s}`, and all have `{meant}`"
            yield Finding(program.span(key), message, (fix,))
    yield from _other_types(program, keys, rows)
    for example in rows:
        places = [key for key in example.keys if key is not None]
        written = literal_texts(ast.List(places))
        if written is None or len(places) < len(example.keys):
            continue
        yield from _no_json(program, call, output, dict(zip(written, example.values, strict=True)))
        for key in (key for key in keys if key not in written):
            meant = nearest(key, [each for each in written if each not in keys])
            if meant is None:
                yield Finding(program.span(example), f"the example has no `{key}`")
                continue
            wrong = places[written.index(meant)]
            fix = change_literal(program, wrong, key)
            yield Finding(program.span(wrong), f"the example has no `{key}`, but `{meant}`", (fix,))


def _other_types(program: Program, keys: Iterable[str], rows: list[ast.Dict]) -> Iterator[Finding]:
    """Yield the only value of a key that is a list, a mapping or a text, unlike that of other examples."""
    for name in keys:
        values = [value for row in rows for key, _, value in dict_items(row) if key == name]
        kinds = [str if text_of(each) is not None else type(each) for each in values]
        usual = Counter(kinds).most_common(1)[0][0] if kinds else str
        odd = [value for value, kind in zip(values, kinds, strict=True) if kind is not usual]
        if len(odd) == 1 and {*kinds} <= _KINDS.keys():
            message = f"`{name}` is {_KINDS[usual]} in the other examples"
            yield Finding(program.span(odd[0]), message, severity="warning")


_KINDS: Final[Mapping[type, str]] = {str: "a text", ast.List: "a list", ast.Dict: "a mapping"}


def _no_json(
    program: Program, call: ast.Call, output: ast.expr | None, example: Mapping[str, ast.expr]
) -> Iterator[Finding]:
    """Yield the text that an example has as its output where the prompt object wants JSON."""
    kind = argument(call, "output_type")
    written = example.get(text_of(output) or "")
    text = text_of(written)
    if written is None or text is None or (kind is not None and text_of(kind) != "json"):
        return
    try:
        json.loads(text)
    except ValueError:
        message = "this output is no JSON, which the `output_type` of the prompt is: Ragas refuses it"
        yield Finding(program.span(written), message)


def _in_all_examples(key: ast.expr, keys: list[str], rows: list[ast.Dict]) -> str | None:
    """Return the key that all of several examples have in place of a declared one."""
    written = [literal_texts(ast.List([key for key in row.keys if key is not None])) or [] for row in rows]
    if len(written) <= 1 or not isinstance(key, ast.Constant) or any(key.value in each for each in written):
        return None
    shared = set.intersection(*(set(each) for each in written)) - {*keys}
    return nearest(str(key.value), sorted(shared))


def _format(program: Program, call: ast.Call, known: Mapping[str, list[str]]) -> Iterator[Finding]:
    """Yield the arguments of `format` that are not the input keys of a prompt object in the program."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr="format"):
            keys = known.get(name)
        case _:
            keys = None
    if keys is None or is_open(call):
        return
    if call.args:
        yield Finding(program.span(call.args[0]), f"`format` takes its inputs by name: `{keys[0]}=…`")
        return
    given = {keyword.arg for keyword in call.keywords}
    missing = [key for key in keys if key not in given]
    unknown = [keyword for keyword in call.keywords if keyword.arg not in keys]
    for keyword in unknown if missing else ():
        yield unknown_argument(program, keyword, f"the prompt has no input `{keyword.arg}`", missing)
    if missing and not unknown:
        yield Finding(program.span(call.func), f"the prompt needs {in_code(missing)}")


def _unfilled(program: Program, call: ast.Call, known: Mapping[str, list[str]]) -> Iterator[Finding]:
    """Yield the text of a prompt object that is sent to a model before its inputs are filled in."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="invoke" | "ainvoke"),
            args=[ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="to_string")) as text, *_],
        ) if name in known:
            message = (
                f"this text has `{{{known[name][0]}}}` in place of the input: `{name}.format(…)` fills it in"
            )
            yield Finding(program.span(text), message)


def _input_keys(program: Program) -> dict[str, list[str]]:
    """Return the literal input keys of the prompt objects in variables that the module binds once."""
    found = {}
    for name, call in program.assigned_calls():
        keys = literal_texts(argument(call, "input_keys")) if _is_prompt_object(program, call) else None
        if keys and "input_keys" not in program.attributes.get(name, ()):
            found[name] = keys
    return found
