"""The environment variables that a run may read and the servers that it uses, known before it starts."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.models.keys import (
    Destination,
    describe_grant,
    destination_of,
    granting,
    is_allowed,
    missing_among,
    missing_grants,
    ray_grants,
    require,
    variables_named_by,
)
from promptls.models.model import ModelReference
from promptls.security.processes import network_variables, readable_variables, restricted_environment
from promptls.security.trust import KeyGrant, TrustStore
from promptls.text.errors import FilePlace
from promptls.workspace.settings import ProjectFile, place_of_setting


class KeyQuestion(NamedTuple):
    """A missing grant, and the location in the project's settings that requires it."""

    grant: KeyGrant
    place: FilePlace | None

    def text(self) -> str:
        """Return the question's text."""
        what = describe_grant(self.grant)
        verb, _, rest = what.partition(" ")
        begin = {"sending": "Send", "connecting": "Connect"}[verb]
        where = f" ({Path(self.place.path).name}:{(self.place.line or 0) + 1})" if self.place else ""
        return f"{begin} {rest}? The project's settings ask for it{where}."


@dataclass(frozen=True, slots=True)
class Access:
    """The models that a run may call, and the other parts of the environment that it needs."""

    project: ProjectFile
    references: tuple[ModelReference, ...]
    ray_address: str | None = None
    """The address of a Ray cluster from project settings, if the run uses it."""
    opens_models: bool = True
    """Whether the run itself calls the models; otherwise, a user function may call some of them."""

    @property
    def environment(self) -> tuple[str, ...]:
        """The variables that functions and metrics may read, as listed in the settings."""
        return readable_variables(self.project.settings.environment, self._of_models)

    @property
    def variables(self) -> frozenset[str]:
        """All sensitive variables that the run may read, except those with missing grants."""
        return self._of_models | network_variables() | set(self.environment)

    @property
    def key_variables(self) -> frozenset[str]:
        """The subset of variables that an editor's key store may provide."""
        return self._of_models | set(self.environment)

    @property
    def named_variables(self) -> frozenset[str]:
        """The variables that the models refer to, including those that the user has not allowed yet."""
        return variables_named_by(self.references)

    @property
    def _of_models(self) -> frozenset[str]:
        return variables_named_by(each for each in self.references if is_allowed(each))

    def questions(self) -> list[KeyQuestion]:
        """Return the grants that the user has to give before the run starts."""
        found: dict[KeyGrant, FilePlace | None] = {}
        for reference in self.references if self.opens_models else ():
            for grant in missing_grants(reference):
                found.setdefault(grant, self._place("models", reference.name, "base_url", "api_key_env"))
        if self.ray_address is not None:
            shipped = sorted(name for name in self.key_variables if name in os.environ)
            for grant in missing_among(ray_grants(self.ray_address, shipped)):
                found.setdefault(grant, self._place("ray", "address"))
        return [KeyQuestion(grant, place) for grant, place in found.items()]

    def check(self) -> None:
        """Raise NotAllowedError if the run needs a grant that the user has not given."""
        questions = self.questions()
        require([each.grant for each in questions], questions[0].place if questions else None)

    def _place(self, *keys: str) -> FilePlace | None:
        table, name, *others = keys
        if table == "ray":
            return place_of_setting(self.project, (table, name))
        places = (place_of_setting(self.project, (table, name, key)) for key in others)
        return next((place for place in places if place is not None), None)


async def may_send_keys(access: Access, confirm: Callable[[str, str], Awaitable[bool]]) -> bool:
    """Ask the user for each missing grant, and save it; return False if the user declines.

    `confirm` gets the question, and the label of the button that agrees.
    """
    for question in access.questions():
        if not await confirm(question.text(), "Send"):
            return False
        TrustStore().give([question.grant])
    return True


NOT_SENT: Final = "Nothing was run, and no key was sent."
"""The message for a run that the user declined."""


def sends_of(references: Iterable[ModelReference], ray_address: str | None) -> list[dict[str, Any]]:
    """Return what is sent where, for plans: `model`, `host`, `variable` and `allowed` of each destination."""
    found = [destination_of(each) for each in references]
    sends = [asdict(each) for each in found if each is not None]
    sends += [
        asdict(Destination("", grant.origin, None, not missing_among([grant])))
        for grant in ray_grants(ray_address, ())
    ]
    return [each for index, each in enumerate(sends) if each not in sends[:index]]


@contextmanager
def limited_to(accesses: Iterable[Access], grants: Iterable[KeyGrant] = ()) -> Iterator[None]:
    """Restrict the environment to what the runs may read, and allow the grants, within the `with` block."""
    with granting(grants):
        names = frozenset().union(*(each.variables for each in accesses))
        with restricted_environment(names):
            yield
