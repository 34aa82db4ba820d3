"""The confirmation of expensive runs on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from promptls.text.errors import UsageError

if TYPE_CHECKING:
    from promptls.experiments.run_protocol import Planned


def ask_before_spending(plans: Iterable[Planned], less: str = "`--rows 20`") -> None:
    """Raise `UsageError` where much is to be spent, and nobody says that it may be.

    `less` is the option of a smaller run.
    """
    questions = [plan.question for plan in plans if plan.question is not None]
    if not questions:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write(f"{' '.join(questions)} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in {"y", "yes"}:
            return
        raise UsageError("nothing was run", remedy=f"a smaller run: {less}, or a budget: `--max-cost 0.5`")
    raise UsageError(
        " ".join(questions).removesuffix(" Run it?"),
        remedy=f"say `--yes` to run it, or run less: {less}, `--max-cost 0.5`; "
        "`ask_above` in the settings says what is run without a question",
    )
