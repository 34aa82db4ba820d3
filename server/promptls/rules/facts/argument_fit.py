"""Whether the arguments of a call fit what is called."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.rule import Edit, Finding, Fix, Severity
from promptls.syntax.jinja.nodes import Expression, Keyword
from promptls.syntax.jinja.refusals import refused_arguments
from promptls.syntax.jinja.signature import Signature, Taken
from promptls.text.counted import counted
from promptls.text.nearest import is_close, nearest
from promptls.text.span import Span


def misfits(
    signature: Signature, arguments: tuple[Expression, ...], place: Span, *, lacking: Severity | None = None
) -> Iterator[Finding]:
    """What is wrong with the arguments of a call whose name stands at `place`.

    Unpacked arguments can be any, and keep everything silent that they could make right. `lacking`
    is the severity of a required argument that is not there, where that is no error.
    """
    if any(refused_arguments(arguments)):
        return  # that is an error for any function, and told as such
    given = [each for each in arguments if not isinstance(each, Keyword)]
    named = [each for each in arguments if isinstance(each, Keyword) and not each.name.startswith("*")]
    is_unpacking = any(isinstance(each, Keyword) and each.name.startswith("*") for each in arguments)
    placed = [each for each in signature.parameters if each.kind in {"any", "place"}]
    takes_rest = any(each.kind == "rest" for each in signature.parameters)
    if len(given) > len(placed) and not takes_rest:
        yield Finding(given[len(placed)].span, _too_many(signature.name, len(placed), len(given)))
    filled = {each.name for each in placed[: len(given)]}
    takes_named = any(each.kind == "named" for each in signature.parameters)
    by_name = [each.name for each in signature.parameters if each.kind in {"any", "keyword"}]
    for keyword in named:
        span = Span(keyword.span.start, keyword.span.start + len(keyword.name))
        if keyword.name in filled and keyword.name in by_name:
            yield Finding(span, f"`{keyword.name}` is given twice")
        elif keyword.name not in by_name and not takes_named:
            yield _unknown(signature, keyword.name, span, [name for name in by_name if name not in filled])
        filled.add(keyword.name)
    if is_unpacking:
        return
    missing = [each for each in signature.parameters if each.is_required and each.name not in filled]
    unknown = [each for each in named if each.name not in by_name]
    if missing and not (unknown and not takes_named):
        yield Finding(place, _too_few(signature.name, missing), severity=lacking)


def _too_many(name: str, most: int, given: int) -> str:
    taken = f"at most {counted(most, 'argument')}" if most else "no arguments"
    return f"`{name}` takes {taken}, and {given} {'is' if given == 1 else 'are'} given"


def _too_few(name: str, missing: list[Taken]) -> str:
    names = ", ".join(f"`{each.name}`" for each in missing)
    return f"`{name}` lacks the argument{'' if len(missing) == 1 else 's'} {names}"


def _unknown(signature: Signature, name: str, span: Span, known: list[str]) -> Finding:
    message = f"`{signature.name}` has no argument `{name}`"
    meant = nearest(name, known)
    if meant is None:
        return Finding(span, message)
    fix = Fix(f"Change to `{meant}`", (Edit(span, meant),), is_close(name, meant))
    return Finding(span, f"{message}; did you mean `{meant}`?", (fix,))
