"""Parameters of macros and of call blocks as roots of paths, beside the inputs.

A root that is no input holds a bracket, which no name does: `show(0,user` is the first parameter of
the macro `show`, `show(caller` the call block that it is called with, and `show(` the macro itself,
or an imported file.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from promptls.meaning.paths import Path


class Parameter(NamedTuple):
    """A parameter of a macro, or of the call block that its tag's text names."""

    owner: str
    number: int
    name: str

    @property
    def root(self) -> str:
        """The root of the paths that begin at the parameter."""
        return f"{self.owner}({self.number},{self.name}"


def macro_root(name: str) -> str:
    """What stands for a macro, or for an imported file."""
    return f"{name}("


def caller_root(macro: str) -> str:
    """What stands for the call block that a macro is called with."""
    return f"{macro}(caller"


NUMBERS_ROOT: Final = macro_root("range")
"""What stands for the numbers that a loop over a range gives."""


def is_no_input(root: object) -> bool:
    """Whether a path with this root begins at no input but at a macro or a parameter."""
    return isinstance(root, str) and "(" in root


def is_macro(root: object) -> bool:
    """Whether a path with this root begins at what has no shape: a macro, an imported file, a call block."""
    return isinstance(root, str) and root.endswith(("(", "(caller"))


def parameter_of(path: Path) -> Parameter | None:
    """The parameter that a path begins at; None where it begins at none."""
    root = path[0].key if path else None
    if not isinstance(root, str):
        return None
    owner, _, rest = root.rpartition("(")
    number, _, name = rest.partition(",")
    return Parameter(owner, int(number), name) if owner and number.isdigit() else None


def callee_words(callee: Path) -> str:
    """What a call calls, `show` or `tools.show`; empty where it is certainly no macro of a file."""
    words = [each.key.removesuffix("(") for each in callee if isinstance(each.key, str)]
    return ".".join(words) if len(words) == len(callee) and not any("(" in each for each in words) else ""
