"""Names in an OpenCompass configuration: undefined ones, and those that imports do not give."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator
from typing import Final

from promptls.convert.python_interpreter import Files
from promptls.dialects.opencompass.vocabulary import EVALUATORS
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import Finding, Fix
from promptls.programs.configuration_tree import DATASET_KEYS, KNOWN_CLASSES, ConfigurationTree
from promptls.text.suggest import is_close, is_typo, only_typo
from promptls.workspace.python_scopes import scopes_of

_CLASS: Final = re.compile(r"(?:Evaluator|Inferencer|Retriever|Dataset|Template)\Z")
"""The end of the names of classes of OpenCompass."""
_FUNCTIONS: Final = (
    "dict",
    "enumerate",
    "int",
    "len",
    "list",
    "open",
    "print",
    "range",
    "sorted",
    "str",
    "sum",
    "zip",
)
"""The functions of Python that configurations call."""
_PACKAGE: Final = "opencompass"
_CONFIGURATIONS: Final = f"{_PACKAGE}.configs"
_EVALUATORS: Final = f"{_PACKAGE}.openicl.icl_evaluator"
_MODULES: Final = (
    *(f"{_PACKAGE}.{name}" for name in ("datasets", "evaluator", "models", "summarizers", "utils")),
    f"{_PACKAGE}.utils.text_postprocessors",
    *(
        f"{_PACKAGE}.openicl.icl_{name}"
        for name in ("evaluator", "inferencer", "prompt_template", "raw_prompt_template", "retriever")
    ),
)
"""The modules of OpenCompass that configurations import."""
_STAR: Final = re.compile(r"^\s*from\s+(\.*)([\w.]*)\s+import\s+\*", re.MULTILINE)
_DEFINED: Final = re.compile(r"^(?:class|def|async def) (\w+)|^(\w+)\s*[:=]", re.MULTILINE)
_MAX_MODULES: Final = 1000


def undefined_names(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the undefined names; in an excerpt, only those that are similar to a defined name."""
    if tree.interpreter.missing:
        return
    # MMEngine removes the first `with read_base():` of a configuration, and reads its imports itself.
    first = next((each for each in tree.module.body if isinstance(each, ast.With)), None)
    removed = {*ast.walk(first.items[0])} if first is not None else set[ast.AST]()
    known = {*tree.names}.union(*(scope.values for scope in scopes_of(tree.module)))
    keys = {id(keyword.value): keyword.arg for keyword in tree.keywords}
    fields = {id(node.value) for node in tree.all_of(ast.FormattedValue)}
    checked = {*keys, *map(id, _listed_values(tree))}
    for node in tree.all_of(ast.Name):
        if node.id in known or node.id.startswith("__") or node in removed:
            continue
        is_builtin = hasattr(builtins, node.id)
        if id(node) in fields:
            what = "this is Python's" if is_builtin else "nothing is named"
            message = f"{what} `{node.id}`: a field is in a text without `f`, or in two braces"
            yield Finding(tree.span(node), message)
        elif not is_builtin and (id(node) in checked or not tree.is_excerpt):
            yield from _undefined_name(tree, node, keys.get(id(node)), known)


def _listed_values(tree: ConfigurationTree) -> Iterator[ast.expr]:
    """Yield the values of variables, and the lists in lists and in sums of lists."""
    for node in tree.nodes:
        if isinstance(node, ast.Assign | ast.Starred):
            yield node.value
            if isinstance(node.value, ast.BinOp):
                yield from (each for each in ast.walk(node.value) if isinstance(each, ast.Name))


def _undefined_name(
    tree: ConfigurationTree, node: ast.Name, key: str | None, known: Collection[str]
) -> Iterator[Finding]:
    meant = [each for each in known if is_typo(node.id, each)]
    if not meant and key in DATASET_KEYS and not tree.is_excerpt:
        meant = [each for each in known if key and each.endswith(key)]
    if not meant:
        meant = [each for each in _FUNCTIONS if is_typo(node.id, each)]
    span = tree.span(node)
    if len(meant) != 1:
        if not tree.is_excerpt:
            is_class = node.id in KNOWN_CLASSES or key == "type"
            what = f"the class `{node.id}` is not imported" if is_class else f"nothing is named `{node.id}`"
            yield Finding(span, what)
        return
    right = meant[0]
    message = f"nothing is named `{node.id}`; did you mean `{right}`?"
    is_other = node.id in KNOWN_CLASSES or (_CLASS.search(node.id) and not _CLASS.search(right))
    module, alias = tree.imported.get(right, ("", None))
    if is_other and alias is not None and alias.asname is None and module.startswith("opencompass."):
        span, right = tree.span(alias), node.id
        message = f"OpenCompass has no class `{meant[0]}`; did you mean `{right}`?"
    yield Finding(span, message, (Fix.change_to(span, right),))


def missing_imports(tree: ConfigurationTree, *, is_empty: bool) -> Iterator[Finding]:
    """Yield the missing imports of configurations.

    A missing package is reported once, and only if the configuration is empty without it.
    """
    statements = {*map(id, tree.imports)}
    for module, statement in tree.interpreter.missing.items():
        if id(statement) not in statements:
            continue
        span = tree.places.module_span(statement, module)
        if module.startswith(".") or tree.interpreter.has_package(module):
            yield Finding(span, f"there is no configuration `{module}`")
        elif is_empty:
            is_empty = False
            package = module.partition(".")[0]
            message = (
                f"`{package}` is not found, so nothing is checked here: install it where promptls runs, or "
                "let the setting `opencompass` name the folder of its checkout"
            )
            yield Finding(span, message, severity="information")


def absent_names(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the imported names that a configuration does not set, if it sets a similar one."""
    for alias in tree.all_of(ast.alias):
        known = tree.interpreter.absent.get(alias, ())
        close = [each for each in known if is_close(alias.name, each)]
        meant = only_typo(alias.name, known) or (close[0] if len(close) == 1 else None)
        if meant is not None:
            message = f"the imported configuration sets no `{alias.name}`"
            yield Finding.suggest(tree.span(alias), message, meant)


def absent_classes(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the imported names that no text of the module, or of what it imports with `*`, has."""
    for node in tree.module.body:
        module = node.module if isinstance(node, ast.ImportFrom) and not node.level else None
        if module is None or not isinstance(node, ast.ImportFrom) or module.startswith(_CONFIGURATIONS):
            continue
        if (meant := _misspelled_module(module, tree.files)) is not None:
            span = tree.places.module_span(node, module)
            yield Finding.suggest(span, f"there is no module `{module}`", meant or None)
        elif module.startswith(f"{_PACKAGE}."):
            texts = _texts(module, tree.files)
            for alias in node.names:
                yield from _absent_class(tree, alias, module, texts)


def _absent_class(
    tree: ConfigurationTree, alias: ast.alias, module: str, texts: list[str]
) -> Iterator[Finding]:
    """Yield an imported name that is in no text of its module; without `texts`, only typos."""
    span, message = tree.span(alias), f"`{module}` has no `{alias.name}`"
    if not texts:
        # A fork may have other classes, so that only a typo of one of these is reported.
        is_known = module != _EVALUATORS or alias.name in EVALUATORS
        meant = None if is_known else only_typo(alias.name, EVALUATORS)
        if meant is not None:
            yield Finding.suggest(span, message, meant)
        return
    written = re.compile(rf"\b{re.escape(alias.name)}\b")
    is_there = alias.name == "*" or any(written.search(text) or "__getattr__" in text for text in texts)
    if not is_there and tree.files.module(f"{module}.{alias.name}") is None:
        known = [name for text in texts for found in _DEFINED.findall(text) for name in found if name]
        typos = [name for name in known if is_typo(alias.name, name)]  # many names end the same
        yield misspelled(span, message, alias.name, typos)


def _misspelled_module(module: str, files: Files) -> str | None:
    """Return the module of OpenCompass that a name means, or an empty text; None if the module may exist."""
    package, _, rest = module.partition(".")
    if package != _PACKAGE:
        return f"{_PACKAGE}.{rest}" if is_typo(package, _PACKAGE) and files.module(package) is None else None
    if module in _MODULES or files.module(module) is not None:
        return None
    return only_typo(module, _MODULES) or (None if files.module(_PACKAGE) is None else "")


def _texts(module: str, files: Files) -> list[str]:
    """Return the texts of a module and of all that it imports with `*`; nothing if one is not found."""
    waiting, found = [module], dict[str, str]()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        path = files.module(name)
        text = files.text(path) if path is not None else None
        if path is None or text is None or len(found) == _MAX_MODULES:
            return []
        found[name] = text
        steps = [*name.split("."), *([""] if path.endswith("__init__.py") else [])]
        for dots, inner in _STAR.findall(text):
            around = steps[: len(steps) - len(dots)] if dots else []
            waiting.append(".".join([*around, *([inner] if inner else [])]))
    return [*found.values()]
