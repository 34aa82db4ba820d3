"""What is asked of the process of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from promptls.settings.header import Engine

if TYPE_CHECKING:
    from promptls.experiments.access import Access


class ProcessRequest(Protocol):
    """What every request to a process of its own says: a data class whose fields JSON can hold."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def yes(self) -> bool:
        """Whether nobody is asked before much is spent."""

    @property
    def only_plan(self) -> bool:
        """Whether it ends with the plan."""

    @property
    def editor(self) -> bool:
        """Whether whoever starts the process can be asked for the models of the editor."""

    @property
    def secrets(self) -> Mapping[str, str]:
        """Variables for the environment of the process."""

    def access(self) -> Access:
        """Return what it may see of the environment, and what it sends where.

        Raises UserError as its plan does.
        """


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run: the absolute path of the prompt, and what takes the place of what is declared.

    `rows` is as `row_choice.parse_rows` reads it, `failing`, or examples as `example_choice` has them; None
    is all. `resume` names a run to be gone on with, `retry_errors` one whose failed rows are asked again;
    then `prompt` may be empty. `engine` is `local` or `ray`, and `ray_address` that of the cluster. `fresh`
    asks models again though their answers are in the cache. With `leave_unsure`, a run that is gone on with
    makes no call that may have been paid for when it broke off. Without `yes`, a run that spends much asks
    first; with `only_plan` it ends there. With `leave_one_out` it goes over all rows with all few-shot
    examples, and without each. `unsaved` are texts that count instead of what is saved, by absolute path.
    `secrets` are variables for the environment of the run, such as keys; they are never written anywhere.
    `editor` says that whoever starts the run can be asked for the models of the editor.
    """

    prompt: str = ""
    experiment: str | None = None
    models: Sequence[str] = ()
    rows: int | str | None = None
    concurrency: int | None = None
    timeout: float | None = None
    repeats: int | None = None
    seed: int | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    resume: str | None = None
    retry_errors: str | None = None
    fresh: bool = False
    leave_unsure: bool = False
    yes: bool = False
    only_plan: bool = False
    leave_one_out: bool = False
    models_base: str | None = None
    engine: Engine | None = None
    ray_address: str | None = None
    editor: bool = False
    unsaved: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def access(self) -> Access:
        """Return what the run may see of the environment, and what it sends where.

        Raises UserError as its plan does.
        """
        from promptls.experiments.prepare import requested_access

        return requested_access(self)
