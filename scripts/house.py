"""Measure the structure of the server's code.

    python scripts/house.py

Counts what makes code hard to maintain: small files, import lines, import cycles, docstrings that are not
imperative, names defined more than once, and private members of pygls.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import mean, median

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "server" / "promptls"
LONG = 600
SHORT = 50


def main() -> None:
    """Print the measures, one a line."""
    files = {file: file.read_text("utf-8") for file in sorted(PACKAGE.rglob("*.py"))}
    trees = {file: ast.parse(text) for file, text in files.items()}
    lengths = [len(text.splitlines()) for text in files.values()]
    total = sum(lengths)
    imports = sum(_import_lines(tree) for tree in trees.values())
    functions = [each for tree in trees.values() for each in _documented(tree)]
    moods = _moods()
    classes = Counter(
        node.name
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    modules = Counter(file.stem for file in files if file.stem != "__init__")
    rows = [
        ("lines", total),
        ("lines of them that are pages of rules", sum(_page_lines(tree) for tree in trees.values())),
        ("files", len(files)),
        ("mean lines of a file", round(mean(lengths))),
        ("median lines of a file", round(median(lengths))),
        (f"files below {SHORT} lines", sum(length < SHORT for length in lengths)),
        (f"files above {LONG} lines", sum(length > LONG for length in lengths)),
        ("import lines", f"{imports / total:.1%}"),
        ("import cycles", len(import_cycles(trees))),
        ("docstrings of functions that are not imperative", f"{moods / max(len(functions), 1):.0%}"),
        ("class names defined more than once", _repeated(classes)),
        ("module names used more than once", _repeated(modules)),
        ("private members of pygls", len(_private_pygls(files))),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        sys.stdout.write(f"{name:<{width}}  {value}\n")


def _page_lines(tree: ast.Module) -> int:
    """Return the lines of a module's docstring if that documents rules."""
    doc = ast.get_docstring(tree) or ""
    return len(doc.splitlines()) if "## Why is this bad?" in doc else 0


def _import_lines(tree: ast.Module) -> int:
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in found)


def _documented(tree: ast.Module) -> list[str]:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [doc for node in functions if (doc := ast.get_docstring(node))]


def _moods() -> int:
    """Return how many docstrings ruff counts as not imperative."""
    command = ["ruff", "check", "--isolated", "--select", "D401", "--output-format", "json", str(PACKAGE)]
    program = Path(sys.executable).with_name("ruff")
    done = subprocess.run(  # noqa: S603 - a constant command
        [str(program), *command[1:]], capture_output=True, text=True, check=False
    )
    return len(json.loads(done.stdout))


def _repeated(names: Counter[str]) -> int:
    return sum(count > 1 for count in names.values())


def _private_pygls(files: dict[Path, str]) -> set[str]:
    """Return the private attributes of pygls that modules which import pygls use."""
    import pygls

    own = (file.read_text("utf-8") for file in Path(str(pygls.__file__)).parent.rglob("*.py"))
    defined = {name for text in own for name in re.findall(r"(?:def |self\.)(_[a-z]\w*)", text)}
    users = (text for text in files.values() if re.search(r"^(from|import) pygls", text, re.MULTILINE))
    used = {name for text in users for name in re.findall(r"(?:self|server|protocol)\.(_[a-z]\w*)", text)}
    return used & defined


def import_cycles(trees: dict[Path, ast.Module]) -> list[list[str]]:
    """Return the groups of modules that import one another, by Tarjan's algorithm.

    Imports for types and in functions count. The package itself is left out: it has the names of the library.
    """
    names = {_dotted(file): tree for file, tree in trees.items() if file.parent != PACKAGE}
    edges = {name: _imported(tree, names) - {name} for name, tree in names.items()}
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in edges[name]:
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            group = [stack.pop()]
            while group[-1] != name:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(group)

    sys.setrecursionlimit(10_000)
    for name in edges:
        if name not in order:
            visit(name)
    return found


def _dotted(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module, names: dict[str, ast.Module]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in names else node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found & names.keys()


if __name__ == "__main__":
    main()
