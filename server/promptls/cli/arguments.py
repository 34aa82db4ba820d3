"""Arguments of the commands: the parser, rule selections, and data for a rendering."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_code
from promptls.text.suggest import nearest

if TYPE_CHECKING:
    from promptls.rendering.samples import Sample
    from promptls.workspace.snapshot import Snapshot

MAX_PORT: Final = 65_535


class Parser(argparse.ArgumentParser):
    """An argparse parser that preserves line breaks of the description, and raises `UsageError`."""

    def __init__(self, **settings: Any) -> None:
        # Abbreviated options could become ambiguous when an option is added.
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)
        # From Python 3.14 on, argparse writes its own escape sequences, which `SafeStream` would escape.
        self.color = False

    def declared(self) -> tuple[argparse.Action, ...]:
        """Return the declared arguments and options, also those of groups."""
        return tuple(self._actions)

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
            options = [option for action in self.declared() for option in action.option_strings]
            near = nearest(word, options)
            if near:
                remedy = f"did you mean `{near}`? {remedy}"
        wrong = re.match(r"argument (.+): invalid choice: '(.*)' \(choose from (.+)\)$", message)
        if wrong:
            choices = [each.strip(" '") for each in wrong[3].split(",")]
            near = nearest(wrong[2], choices)
            message = f"`{wrong[1]}` cannot be `{wrong[2]}`"
            remedy = f"did you mean `{near}`?" if near else f"choose one of {in_code(choices)}"
        raise UsageError(message, remedy=remedy)


def whole_number(word: str) -> int:
    """Parse a whole number of 1 or more; argparse reports the error for any other word."""
    if not (word.isascii() and word.isdigit() and int(word)):
        raise argparse.ArgumentTypeError(f"`{word}` is not a whole number of 1 or more")
    return int(word)


def port_number(word: str) -> int:
    """Parse the number of a port, from 1; argparse reports the error for any other word."""
    if not (word.isascii() and word.isdigit() and 0 < int(word) <= MAX_PORT):
        raise argparse.ArgumentTypeError(f"`{word}` is not a port from 1 to {MAX_PORT}")
    return int(word)


def any_number(word: str) -> int:
    """Parse a whole number; argparse reports the error for any other word."""
    try:
        return int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"`{word}` is not a whole number") from None


def seconds(word: str) -> float:
    """Parse a positive number of seconds; argparse reports the error for any other word."""
    return _above_zero(word, "number of seconds")


def dollars(word: str) -> float:
    """Parse a positive amount in US dollars; argparse reports the error for any other word."""
    return _above_zero(word.removeprefix("$"), "number of dollars")


def _above_zero(word: str, noun: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"`{word}` is not a {noun} above 0")
    return number


def add_data_arguments(parser: argparse.ArgumentParser, *, with_data: bool = True) -> None:
    """Declare the options that `chosen_sample` reads; `with_data`, also data on the command line."""
    data = parser.add_argument_group("data").add_mutually_exclusive_group()
    data.add_argument("--sample", metavar="NAME", help="use the sample with this name")
    data.add_argument(
        "--row", metavar="N", type=whole_number, help="use row N, from 1, of the first experiment's dataset"
    )
    if with_data:
        data.add_argument("--data", metavar="FILE|JSON", help="inputs: a JSON or YAML file, or JSON text")


def add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the token limit and the truncation step."""
    limit = parser.add_argument_group("token limit")
    limit.add_argument(
        "--limit", metavar="TOKENS", type=whole_number, help="truncate to this number of tokens"
    )
    limit.add_argument(
        "--step", metavar="TOKENS", type=whole_number, help="truncate in multiples of this number of tokens"
    )


@dataclass(frozen=True, slots=True)
class ChosenRules:
    """The rules to report: the selected ones, or all if that is None, except the ignored ones."""

    selected: tuple[str, ...] | None
    ignored: tuple[str, ...]

    def __contains__(self, name: object) -> bool:
        return (self.selected is None or name in self.selected) and name not in self.ignored


def chosen_rules(select: Iterable[str] | None, ignore: Iterable[str] | None) -> ChosenRules:
    """Return the rules to report; each argument contains names separated by commas.

    Raises UsageError for an unknown rule, and if no rules remain.
    """
    selected = None if select is None else _rule_names("--select", select)
    ignored = () if ignore is None else _rule_names("--ignore", ignore)
    if selected is not None and {*selected} <= {*ignored}:
        raise UsageError("`--ignore` excludes every rule that `--select` names", remedy="name another rule")
    return ChosenRules(selected, ignored)


def _rule_names(option: str, values: Iterable[str]) -> tuple[str, ...]:
    from promptls.lint.registry import RULES_BY_NAME

    names = [name for value in values for part in value.split(",") if (name := part.strip())]
    if not names:
        raise UsageError(f"`{option}` names no rule", remedy="`promptls rules` lists them")
    for name in names:
        if name not in RULES_BY_NAME:
            near = nearest(name, RULES_BY_NAME)
            remedy = f"did you mean `{near}`?" if near else "`promptls rules` lists them"
            raise UsageError(f"`{option}` names `{name}`, and there is no such rule", remedy=remedy)
    return tuple(sorted({*names}))


def chosen_sample(snapshot: Snapshot, path: str, arguments: argparse.Namespace) -> Sample:
    """Return the sample that the arguments select, or the default one; raises UserError if there is none."""
    from promptls.rendering.samples import Sample, row_sample, sample_named, samples_of

    if arguments.data is not None:
        return Sample("--data", "the command line", _given_data(arguments.data))
    if arguments.row is not None:
        return row_sample(snapshot, path, arguments.row)
    if arguments.sample is not None:
        return sample_named(snapshot, path, arguments.sample)
    return samples_of(snapshot, path)[0]


def print_data_notes(snapshot: Snapshot, path: str, sample: Sample) -> None:
    """Print which inputs the data on the command line lacks, and which of its values do not fit."""
    from promptls.lint.analysis.sampled_values import sample_problems
    from promptls.lint.runner import file_to_check
    from promptls.semantic.kind import Kind

    file = file_to_check(snapshot, path)
    if file is None or file.kind not in {Kind.PARTS, Kind.OBJECT}:
        return
    for problem in sample_problems(file, sample):
        print(f"note: {problem.message.replace('the sample `--data`', 'the data', 1)}", file=sys.stderr)


def _given_data(word: str) -> dict[str, Any]:
    import yaml

    place = None
    try:
        if word.lstrip().startswith(("{", "[")):
            data = json.loads(word)
        else:
            from promptls.cli.chosen_files import existing

            place = FilePlace(existing(word))
            text = Path(word).read_text("utf-8-sig")
            data = json.loads(text) if word.endswith(".json") else yaml.safe_load(text)
    except json.JSONDecodeError as wrong:
        if place:
            place = place._replace(line=wrong.lineno - 1, column=wrong.colno - 1)
        said = f"the data is not JSON: {wrong.msg} at column {wrong.colno}"
        raise UsageError(said, place, 'write {"name": value, …}, or name a file') from None
    except (UnicodeDecodeError, yaml.YAMLError) as wrong:
        raise UsageError(f"the data cannot be read: {str(wrong).splitlines()[0]}", place) from None
    except RecursionError:
        raise UsageError("the data is nested too deeply", place) from None
    if not isinstance(data, dict):
        raise UsageError(
            "the data is not a mapping of input names to values", place, 'write {"name": value, …}'
        )
    return data
