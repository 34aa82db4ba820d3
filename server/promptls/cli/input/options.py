"""The argument parser of all commands: uniform errors that suggest the nearest option."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from promptls.text.errors import UsageError
from promptls.text.suggest import nearest


class Parser(argparse.ArgumentParser):
    """An argparse parser that keeps the description's line breaks, and raises `UsageError` on an error."""

    def __init__(self, **settings: Any) -> None:
        # Abbreviated options would change their meaning when a longer one is added.
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)
        # From Python 3.14 on, argparse would write escape sequences of its own, which `SafeStream` escapes.
        self.color = False

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` with argparse's message and, for an unknown option, the nearest one."""
        remedy = f"`{self.prog} --help` shows the options"
        missing = re.match(r"the following arguments are required: (.+)", message)
        if missing:
            message = f"`{self.prog}` needs {missing[1]}"
        unknown = re.match(r"unrecognized arguments: (\S+)", message)
        if unknown:
            word = unknown[1].partition("=")[0]
            message = (
                f"`{self.prog}` has no option `{word}`"
                if word.startswith("-")
                else f"`{word}` is one argument too many"
            )
            options = [option for action in self._actions for option in action.option_strings]
            near = nearest(word, options)
            if near:
                remedy = f"did you mean `{near}`? {remedy}"
        raise UsageError(message, remedy=remedy)


def whole_number(word: str) -> int:
    """Return the number that `word` writes, 1 or more; argparse shows the error of any other word."""
    if not (word.isascii() and word.isdigit() and int(word)):
        raise argparse.ArgumentTypeError(f"`{word}` is no whole number of 1 or more")
    return int(word)


def any_number(word: str) -> int:
    """Return the whole number that `word` writes; argparse shows the error of any other word."""
    try:
        return int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"`{word}` is no whole number") from None


def seconds(word: str) -> float:
    """Return the seconds that `word` writes, more than 0; argparse shows the error of any other word."""
    return _above_zero(word, "number of seconds")


def dollars(word: str) -> float:
    """Return the US dollars that `word` writes, more than 0; argparse shows the error of any other word."""
    return _above_zero(word.removeprefix("$"), "number of dollars")


def _above_zero(word: str, noun: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"`{word}` is no {noun} above 0")
    return number
