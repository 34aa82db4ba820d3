"""The lists of a run in an OpenCompass configuration, their items, and the table of its results."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptls.convert.python_interpreter import Interpreter, Names
from promptls.convert.python_values import pieces_of
from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.configuration_tree import ConfigurationTree, keys_of
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, only_typo


def run_problems(tree: ConfigurationTree, names: Names, interpreter: Interpreter) -> Iterator[Finding]:
    """Yield the lists that OpenCompass does not read, and items that are wrong or replace each other."""
    missing = [alias.name for node in interpreter.missing.values() for alias in node.names]
    if "*" not in missing:
        yield from _unread_lists(tree, names)
    yield from _nested_lists(tree, names)
    yield from _repeated_names(tree, names, interpreter)
    if not interpreter.missing:
        yield from _summarized_names(tree, names)
    yield from _extended(tree)


def _unread_lists(tree: ConfigurationTree, names: Names) -> Iterator[Finding]:
    """Yield the list of a run whose name is a typo: OpenCompass reads only `datasets` and `models`."""
    for key, other in (("datasets", "models"), ("models", "datasets")):
        if key in names or other not in names:
            continue
        for node in tree.module.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name) as target, *_], value=ast.List(elts=items)) if (
                    is_typo(name, key)
                    and any(isinstance(each, ast.Call | ast.Dict | ast.Starred) for each in items)
                ):
                    message = f"OpenCompass reads `{key}` beside `{other}`, and not `{name}`"
                    yield Finding.suggest(tree.span(target), message, key, preferred=True)


def _nested_lists(tree: ConfigurationTree, names: Names) -> Iterator[Finding]:
    """Yield the lists that the list of a run contains without `*`; OpenCompass does not look into them."""
    imported = {*_imported_lists(tree)}
    for key in ("datasets", "models"):
        whole = _only_list(tree, key)
        items = whole.elts if whole is not None else []
        match items:
            case [ast.BinOp(op=ast.Add()) as added] if whole is not None:
                operands = [part for part in ast.walk(added) if isinstance(part, ast.Name)]
                if any(isinstance(names.get(part.id), list) for part in operands):
                    span, inner = tree.span(whole), tree.span(added)
                    fix = Fix("Remove the brackets", (Edit(span, tree.text[inner.start : inner.end]),))
                    message = f"this sum is a list, and `{key}` a list of mappings"
                    yield Finding(span, message, (fix,))
        for each in (item for item in items if isinstance(item, ast.Name)):
            value = names.get(each.id)
            is_list = isinstance(value, list) and all(isinstance(item, dict) for item in value)
            if is_list or (value is None and each.id in imported):
                span = tree.span(each)
                fix = Fix("Insert `*`", (Edit.insert(span.start, "*"),), preferred=True)
                message = f"`{each.id}` is a list, and `{key}` a list of mappings: unpack it with `*`"
                yield Finding(span, message, (fix,))


def _only_list(tree: ConfigurationTree, name: str) -> ast.List | None:
    """Return the list that is assigned to a variable; None if it is used otherwise, which may unpack it."""
    uses = [node for node in tree.all_of(ast.Name) if node.id == name]
    for node in tree.module.body if len(uses) == 1 else ():
        if isinstance(node, ast.Assign) and node.targets[0] is uses[0] and isinstance(node.value, ast.List):
            return node.value
    return None


def _imported_lists(tree: ConfigurationTree) -> Iterator[str]:
    """Yield the names of the lists of datasets and models that come from configurations of OpenCompass."""
    for node in tree.imports:
        for alias in node.names if (node.module or "").startswith("opencompass.configs.") else ():
            if alias.name.endswith("_datasets") or alias.name in {"datasets", "models"}:
                yield alias.asname or alias.name


def _repeated_names(tree: ConfigurationTree, names: Names, interpreter: Interpreter) -> Iterator[Finding]:
    """Yield the `abbr` that two datasets of a list have: the results of one replace those of the other."""
    if "model_dataset_combinations" in names:
        return  # Each model may have its own dataset of a name.
    own = {*tree.nodes}
    found: dict[ast.AST, Finding] = {}
    for name, items in names.items():
        if not name.endswith("datasets") or not isinstance(items, list) or id(items) in interpreter.doubted:
            continue
        datasets = {id(each): each for each in items if isinstance(each, dict) and "infer_cfg" in each}
        seen: set[str] = set()
        for each in datasets.values():
            abbr = each.get("abbr")
            if not isinstance(abbr, str) or id(each) in interpreter.doubted:
                continue
            places = [piece.node for piece in pieces_of(abbr) if piece.node in own]
            if abbr in seen and places and places[0] is not None:
                message = f"another dataset has the `abbr` `{abbr}`: their results are one file"
                found[places[0]] = Finding(tree.span(places[0]), message, severity="warning")
            seen.add(abbr)
    yield from found.values()


def _summarized_names(tree: ConfigurationTree, names: Names) -> Iterator[Finding]:
    """Yield the typos of the names of datasets in the `summarizer` of a run."""
    datasets, summarizer = names.get("datasets"), names.get("summarizer")
    if not isinstance(datasets, list) or not isinstance(summarizer, dict):
        return
    made = summarizer.get("summary_groups", [])
    groups = [each for each in made if isinstance(each, dict)] if isinstance(made, list) else []
    abbrs = [each.get("abbr") if isinstance(each, dict) else None for each in datasets]
    known = [each for each in (*abbrs, *(group.get("name") for group in groups)) if isinstance(each, str)]
    if len(known) < len(datasets) + len(groups) or not isinstance(made, list):
        return
    for items in (summarizer.get("dataset_abbrs"), *(each.get("subsets") for each in groups)):
        rows = items if isinstance(items, list) else []
        listed = [each[0] if isinstance(each, list | tuple) and each else each for each in rows]
        for name in (each for each in listed if isinstance(each, str) and each not in known):
            meant = only_typo(name, known)
            node = pieces_of(name)[0].node if meant is not None and meant not in listed else None
            place = tree.places.inside_quotes(node) if isinstance(node, ast.Constant) else None
            if meant is not None and place is not None and node in tree.nodes:
                message = f"no dataset of this run has the `abbr` `{name}`"
                yield Finding.suggest(place, message, meant, severity="warning")


def _extended(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the mapping of a dataset or model that extends a list, which gets only its keys."""
    for node in tree.nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="extend") as method, args=[added]):
                at = Span(tree.span(method).end - len("extend"), tree.span(method).end)
                fixes: tuple[Fix, ...] = (Fix.change_to(at, "append", preferred=True),)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=added):
                at, fixes = tree.span(added), _in_brackets(tree.span(added))
            case _:
                continue
        if name.endswith(("datasets", "models")) and {"type", "abbr", "infer_cfg"} & keys_of(added):
            message = f"this adds the keys of the mapping to `{name}`, and not the mapping"
            yield Finding(at, message, fixes)


def _in_brackets(span: Span) -> tuple[Fix, ...]:
    edits = (Edit.insert(span.start, "["), Edit.insert(span.end, "]"))
    return (Fix("Put it into a list", edits, preferred=True),)
