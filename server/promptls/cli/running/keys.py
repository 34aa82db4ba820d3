"""Keys that a command may send: the option `--allow-key`, the question and the environment."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptls.experiments.access import Access, KeyQuestion
    from promptls.experiments.run_protocol import ProcessRequest
    from promptls.security.trust import KeyGrant


def add_allow_key(parser: argparse._ActionsContainer) -> None:
    """Declare `--allow-key`."""
    parser.add_argument(
        "--allow-key",
        metavar="VARIABLE@HOST",
        type=_grant,
        action="append",
        default=[],
        help="allow the key in VARIABLE to be sent to this server this time, such as "
        "`OPENAI_API_KEY@https://llm.example.com`; may be repeated",
    )


@contextmanager
def keys_allowed(
    requests: Sequence[ProcessRequest], grants: Sequence[KeyGrant], *, asks: bool
) -> Iterator[None]:
    """Hide what the runs do not need from this process, inside the `with` block.

    With `asks`, the user is asked for each key that the settings of a project send elsewhere. Raises
    NotAllowedError where the user says no, or nobody can be asked.
    """
    from promptls.experiments.access import limited_to
    from promptls.models.keys import granting

    with granting(grants):
        accesses = [request.access() for request in requests]
        if asks:
            for access in accesses:
                ask_for_keys(access)
        with limited_to(accesses):
            yield


def can_ask() -> bool:
    """Return whether there is a terminal, with somebody to answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_for_keys(access: Access) -> None:
    """Ask for each grant that is missing, and remember it; raises as `keys_allowed`."""
    if not can_ask():
        access.check()
        return
    for question in access.questions():
        _ask(question)


def sent_lines(sends: Sequence[Mapping[str, Any]], environment: Sequence[str]) -> list[str]:
    """Return what is sent where, and which variables are read, one line for each."""
    from promptls.models.keys import Destination

    lines = list(dict.fromkeys(Destination(**each).words() for each in sends))
    if environment:
        lines.append(f"functions and metrics may read {', '.join(environment)}")
    return lines


def _ask(question: KeyQuestion) -> None:
    from promptls.models.keys import NotAllowedError
    from promptls.security.trust import TrustStore

    sys.stderr.write(f"{question.words()} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise NotAllowedError("nothing was run, and no key was sent", question.place, "choose another model")
    TrustStore().give([question.grant])


def _grant(text: str) -> KeyGrant:
    from promptls.security.trust import KeyGrant

    try:
        return KeyGrant.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
