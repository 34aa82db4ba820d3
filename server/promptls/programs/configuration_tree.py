"""The syntax tree of an OpenCompass configuration in Python, and what its checks look up in it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from promptls.convert.python_interpreter import Files, Interpreter, Names
from promptls.dialects.opencompass.vocabulary import (
    DIALOGUE_KEYS,
    EVALUATION_KEYS,
    INFER_KEYS,
    INFERENCERS,
    MORE_INFERENCERS,
    READER_KEYS,
    RETRIEVERS,
    TEMPLATE_KEYS,
    TEMPLATE_TYPES,
    TURN_KEYS,
)
from promptls.programs.program import SyntaxTree
from promptls.syntax.python_places import text_of

DATASET_KEYS: Final = ("reader_cfg", "infer_cfg", "eval_cfg")
OF_EVALUATION: Final = ("evaluator", "pred_role", "pred_postprocessor", "dataset_postprocessor")
CONFIGURATION_KEYS: Final = frozenset(
    {"type", "abbr", *DATASET_KEYS, *OF_EVALUATION, *EVALUATION_KEYS, *INFER_KEYS}
    | {*READER_KEYS, *TEMPLATE_KEYS, *DIALOGUE_KEYS, *TURN_KEYS}
    | {"dataset_cfg", "dict_postprocessor", "judge_cfg", "partitioner", "runner"}
)
"""The keys of the mappings of a configuration."""
KNOWN_CLASSES: Final = frozenset({*INFERENCERS, *MORE_INFERENCERS, *RETRIEVERS, *TEMPLATE_TYPES})
"""The classes of OpenCompass that promptls knows."""


@dataclass(frozen=True)
class ConfigurationTree(SyntaxTree):
    """A configuration: its syntax tree, in which mappings are calls of `dict`, its text and its values."""

    names: Names
    """The values of its variables."""
    interpreter: Interpreter
    """What has evaluated it."""
    files: Files

    @cached_property
    def keywords(self) -> list[ast.keyword]:
        """The keys of all mappings, and other arguments with a name."""
        return self.all_of(ast.keyword)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns of the rows that readers name."""
        named = self.values_at("input_columns", "output_column")
        return frozenset(text for each in named for text in texts_of(each))

    @cached_property
    def input_columns(self) -> tuple[str, ...]:
        """The input columns of the only reader, or of all; empty if readers have different ones."""
        named = {tuple(texts_of(each)) for each in self.values_at("input_columns")}
        return named.pop() if len(named) == 1 else ()

    def values_at(self, *keys: str) -> list[ast.expr]:
        """Return the values of these keys, in all mappings."""
        return [each.value for each in self.keywords if each.arg in keys]

    @cached_property
    def mappings(self) -> list[ast.Call]:
        """The calls of `dict`."""
        return [each for each in self.all_of(ast.Call) if is_mapping(each)]

    @cached_property
    def variables(self) -> dict[str, list[ast.expr]]:
        """The values that are assigned to each name."""
        found: dict[str, list[ast.expr]] = {}
        for node in self.all_of(ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
        return found

    @cached_property
    def only_values(self) -> dict[str, ast.expr]:
        """The values of the names that are assigned once."""
        return {name: values[0] for name, values in self.variables.items() if len(values) == 1}

    def assigned_to(self, node: ast.expr) -> list[ast.expr]:
        """Return what is assigned to the variable that an expression is, or the expression itself."""
        return self.variables.get(node.id, []) if isinstance(node, ast.Name) else [node]

    def resolved(self, node: ast.expr) -> ast.expr:
        """Return the value of a variable that is assigned once; other expressions unchanged."""
        return self.only_values.get(node.id, node) if isinstance(node, ast.Name) else node

    @cached_property
    def named_values(self) -> list[tuple[str, ast.expr]]:
        """The values of variables and keys, each with the name."""
        found: list[tuple[str, ast.expr]] = []
        for node in self.nodes:
            if isinstance(node, ast.keyword) and node.arg is not None:
                found.append((node.arg, node.value))
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found.append((node.targets[0].id, node.value))
        return found

    @cached_property
    def bound_names(self) -> frozenset[str]:
        """The variables that the configuration sets anywhere."""
        return frozenset(each.id for each in self.all_of(ast.Name) if isinstance(each.ctx, ast.Store))

    @cached_property
    def imports(self) -> list[ast.ImportFrom]:
        """The imports of names from modules."""
        return self.all_of(ast.ImportFrom)

    @cached_property
    def classes(self) -> frozenset[str]:
        """The classes and functions that are imported from OpenCompass."""
        modules = ((name, module.split(".")) for name, (module, _) in self.imported.items())
        return frozenset(
            name for name, parts in modules if parts[0] == "opencompass" and "configs" not in parts[1:]
        )

    @cached_property
    def is_excerpt(self) -> bool:
        """Whether no classes of OpenCompass are imported one by one, so that names may be undefined."""
        has_star = any(alias.name == "*" for node in self.imports for alias in node.names)
        return has_star or not any(
            (node.module or "").startswith("opencompass.openicl") for node in self.imports
        )

    @cached_property
    def keys_set_later(self) -> frozenset[object]:
        """All literals, and the arguments of `update`: keys may be among them."""
        found: set[object] = {node.value for node in self.all_of(ast.Constant)}
        for node in self.all_of(ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "update":
                calls = [node, *(each for each in node.args if isinstance(each, ast.Call))]
                found.update(keyword.arg for call in calls for keyword in call.keywords)
        return frozenset(found)


def is_mapping(node: ast.expr) -> bool:
    """Return whether an expression is a call of `dict`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict"


def keys_of(node: ast.expr) -> frozenset[str]:
    """Return the literal keys of a mapping."""
    if isinstance(node, ast.Call) and is_mapping(node):
        return frozenset(each.arg for each in node.keywords if each.arg)
    if isinstance(node, ast.Dict):
        return frozenset(key for each in node.keys if each and (key := text_of(each)) is not None)
    return frozenset()


def values_of(node: ast.expr) -> dict[str | None, ast.expr]:
    """Return the values of a call by argument; nothing for other expressions."""
    return {each.arg: each.value for each in node.keywords} if isinstance(node, ast.Call) else {}


def texts_of(node: ast.expr) -> list[str]:
    """Return the literal texts in a list, or of one text."""
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return [text for each in items if (text := text_of(each)) is not None]


def write_as_calls(tree: ast.Module) -> None:
    """Replace mappings in braces with calls of `dict`, so that checks know one form of mapping."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        is_known = isinstance(node, ast.keyword) and node.arg in CONFIGURATION_KEYS - {"template"}
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.Dict):
                setattr(node, field, _as_call(value, is_known=is_known))
            elif isinstance(value, list):
                value[:] = [
                    _as_call(each, is_known=False) if isinstance(each, ast.Dict) else each for each in value
                ]
        waiting.extend(ast.iter_child_nodes(node))


def _as_call(mapping: ast.Dict, *, is_known: bool) -> ast.expr:
    """Return a mapping as a call of `dict`; the mapping itself if it may be none of OpenCompass."""
    keys = [each.value if isinstance(each, ast.Constant) else None for each in mapping.keys]
    if not is_known and not CONFIGURATION_KEYS.intersection(keys):
        return mapping
    keywords = []
    for key, name, value in zip(mapping.keys, keys, mapping.values, strict=True):
        if key is None:
            keywords.append(ast.keyword(arg=None, value=value, **_place(value)))
        elif isinstance(name, str) and name.isidentifier() and _is_plain(key, name):
            place = {**_place(key), "col_offset": key.col_offset + 1}
            keywords.append(ast.keyword(arg=name, value=value, **place))
        else:
            return mapping
    place = _place(mapping)
    brace = {**place, "end_lineno": mapping.lineno, "end_col_offset": mapping.col_offset + 1}
    return ast.Call(ast.Name("dict", ast.Load(), **brace), [], keywords, **place)


def _is_plain(key: ast.expr, name: str) -> bool:
    """Return whether a key is its name in two quotes."""
    width = (key.end_col_offset or 0) - key.col_offset
    return key.lineno == key.end_lineno and width == len(name.encode()) + len('""')


def _place(node: ast.expr) -> dict[str, Any]:
    names = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    return {name: getattr(node, name) for name in names}
