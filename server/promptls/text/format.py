"""Format numbers, amounts of money, values and long texts for messages and reports."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def plural(number: float, noun: str) -> str:
    """Return the number with its noun, pluralized if needed: `1 token`, `1,234 tokens`, `0.5 seconds`."""
    several = f"{noun}es" if noun.endswith("x") else f"{noun}s"
    return f"{number:,.15g} {noun if number == 1 else several}"


def in_dollars(amount: float) -> str:
    """Format US dollars: `$1,234.50`; below one dollar with two significant digits, as `$0.0042`."""
    if amount == 0:
        return "$0"
    decimals = 2 if abs(amount) >= 1 else 1 - floor(log10(abs(amount)))
    return f"${amount:,.{decimals}f}"


def lower_first(text: str) -> str:
    """Return the text with a lower-case letter first, such as a sentence for use after a colon."""
    return f"{text[:1].lower()}{text[1:]}"


def upper_first(text: str) -> str:
    """Return the text with a capital letter first."""
    return f"{text[:1].upper()}{text[1:]}"


_WORDS: Final = reprlib.Repr()
_WORDS.maxstring = _WORDS.maxother = 60
_WORDS.maxdict = _WORDS.maxlist = _WORDS.maxtuple = 4
_WORDS.maxlevel = 2


def shorten(value: Any) -> str:
    """Return the `repr` of a value on one line, truncated if it is long."""
    try:
        return " ".join(_WORDS.repr(value).split())
    except Exception:  # noqa: BLE001 - `repr` of a user's object, or of a huge integer, can fail
        return f"a value of type {type(value).__name__}"


def shorten_text(text: str, length: int) -> str:
    """Return a text, cut after `length` characters if it is longer."""
    return text if len(text) <= length else f"{text[:length]}…"


def in_code(names: Iterable[object], separator: str = ", ") -> str:
    """Return names as Markdown code, such as "`a`, `b`"."""
    return separator.join(f"`{name}`" for name in names)


def first_of(names: Sequence[str], count: int) -> str:
    """Return the first names, and how many others there are: "a, b and 3 more"."""
    more = f" and {len(names) - count} more" if len(names) > count else ""
    return ", ".join(names[:count]) + more


def shorten_line(text: str, length: int) -> str:
    """Return a text on one line, cut after `length` characters if it is longer."""
    return shorten_text(" ".join(text.split()), length)


# Characters that XML 1.0 cannot represent, escaped or not.
_NO_XML: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def xml_text(text: str) -> str:
    """Return `text` without the characters that XML 1.0 cannot represent."""
    return _NO_XML.sub("�", text)


def junit_text(root: Element) -> str:
    """Return a JUnit report as XML; the cases, failures and errors of its suites are counted here."""
    from xml.etree.ElementTree import indent, tostring  # most importers of this module need no XML

    counted = {"tests": "testcase", "failures": "testcase/failure", "errors": "testcase/error"}
    for count, path in counted.items():
        for suite in root:
            suite.set(count, str(len(suite.findall(path))))
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'
