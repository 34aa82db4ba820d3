"""The rules selected by `--select` and `--ignore`."""

from __future__ import annotations

from collections.abc import Iterable

from promptls.text.errors import UsageError


def chosen_rules(select: Iterable[str] | None, ignore: Iterable[str] | None) -> frozenset[str]:
    """Return the names of the rules to report: the selected ones, or all, without the ignored ones.

    Each word holds names separated by commas. Raises UsageError for a name that no rule has, and
    where none is left.
    """
    from promptls.lint.registry import RULES_BY_NAME

    selected = frozenset(RULES_BY_NAME) if select is None else _names("--select", select)
    left = selected - (_names("--ignore", ignore) if ignore is not None else frozenset())
    if not left:
        raise UsageError("`--ignore` takes away every rule that `--select` names", remedy="name another rule")
    return left


def _names(option: str, words: Iterable[str]) -> frozenset[str]:
    from promptls.lint.registry import RULES_BY_NAME
    from promptls.text.suggest import nearest

    names = [name for word in words for part in word.split(",") if (name := part.strip())]
    if not names:
        raise UsageError(f"`{option}` names no rule", remedy="`promptls rules` lists them")
    for name in names:
        if name not in RULES_BY_NAME:
            near = nearest(name, RULES_BY_NAME)
            remedy = f"did you mean `{near}`?" if near else "`promptls rules` lists them"
            raise UsageError(f"`{option}` names `{name}`, and there is no such rule", remedy=remedy)
    return frozenset(names)
