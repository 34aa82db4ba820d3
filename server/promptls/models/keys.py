"""API keys of models: their sources, and the servers that they may be sent to.

The key in a provider's standard variable may always be sent to that provider's server. If project settings
combine any other variable and server, the user must have given a `KeyGrant`: in a prompt, on the
command line, or with `promptls trust`. Programs that specify a server themselves need no grant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from promptls.models.model import ModelError, ModelReference
from promptls.models.providers import TABLE, Provider
from promptls.security.processes import is_harmless
from promptls.security.trust import KeyGrant, TrustStore, origin_of
from promptls.text.errors import FilePlace, UsageError


def key_of(reference: ModelReference) -> str | None:
    """Return the model's key; None if it needs none.

    Raises `ModelError` with the variable's name if a required key is missing.
    """
    for variable in variables_of(reference):
        if key := _environment(variable):
            return key
    provider = TABLE[reference.provider]
    if reference.api_key_env is None and (not provider.needs_key or reference.base_url is not None):
        return None
    variable = reference.api_key_env or provider.key_envs[0]
    raise ModelError(
        f"the model `{reference.name}` needs a key, and the environment variable `{variable}` is not set",
        f"run `export {variable}=…` in the shell that starts promptls",
    )


def variables_of(reference: ModelReference) -> tuple[str, ...]:
    """Return the variables that may contain the model's key; the first one that is set is used."""
    if reference.api_key_env is not None:
        return (reference.api_key_env,)
    # A custom server does not get the key of the provider's server.
    return () if reference.base_url is not None else TABLE[reference.provider].key_envs


def variables_named_by(references: Iterable[ModelReference]) -> frozenset[str]:
    """Return all variables that the models read: keys, addresses, and the AWS environment."""
    names: set[str] = set()
    for reference in references:
        names.update(variables_of(reference))
        if (address := TABLE[reference.provider].base_url_env) is not None:
            names.add(address)
        names.update(TABLE[reference.provider].credential_envs)
        if reference.provider == "bedrock":
            names.update(name for name in os.environ if name.startswith("AWS_"))
    return frozenset(names)


def key_remedy(reference: ModelReference) -> str:
    """Return the remedy for a provider that rejects the model's key, or requires a missing one."""
    variables = variables_of(reference)
    there = next(filter(_environment, variables), None)
    if there is not None:
        return f"check the key in the environment variable `{there}`"
    if variables:
        return f"set the environment variable `{variables[0]}` to the key"
    return (
        f"name the variable with the key of this server: `api_key_env` of `models.{reference.name}` in "
        "`promptls.toml`"
    )


RAY_ADDRESS: Final = "RAY_ADDRESS"
"""The variable name in grants for connecting to a Ray cluster."""
_REMOTE_ROUTES: Final = frozenset({"chat", "library"})
_ADDRESS: Final = re.compile(
    r"https?://([^\s/?#\\@]*@)?([\w.-]+|\[[\da-f:.]+\])(:\d+)?([/?#][^\s\\]*)?", re.ASCII | re.IGNORECASE
)
"""Addresses that all libraries parse alike, so that requests go to the allowed server."""

_allowed: ContextVar[frozenset[KeyGrant]] = ContextVar("allowed_grants", default=frozenset())


class NotAllowedError(UsageError):
    """A key would be sent to a server that the user has not allowed."""


@dataclass(frozen=True, slots=True)
class Destination:
    """The server that a model's prompts are sent to, and the variable with the key."""

    model: str
    """The model's name; empty for a Ray cluster, whose nodes call the models."""
    host: str
    """The origin of the server's address."""
    variable: str | None
    """The variable with the key; None if no key is sent."""
    allowed: bool
    """Whether the user allows sending the key there."""

    def description(self) -> str:
        """Return a description of what is sent where, for display in a plan."""
        what = self.variable or ("prompts without a key" if self.model else "the models and their keys")
        return f"sends {what} to {self.host}" + ("" if self.allowed else " (not allowed yet)")


def destination_of(reference: ModelReference) -> Destination | None:
    """Return the model's destination; None for local models and models without an address."""
    if TABLE[reference.provider].route not in _REMOTE_ROUTES:
        return None
    origin = _origin(reference)
    if origin is None:
        return None
    variables = _sent_variables(reference)
    present = next(filter(_environment, variables), None)
    needs_key = TABLE[reference.provider].needs_key or reference.api_key_env is not None
    variable = present or (variables[0] if variables and needs_key else None)
    return Destination(reference.name, origin, variable, is_allowed(reference))


def needed_grants(reference: ModelReference) -> tuple[KeyGrant, ...]:
    """Return the grants that are required for using the model.

    Raises NotAllowedError for an ambiguous address.
    """
    if not reference.from_project or TABLE[reference.provider].route not in _REMOTE_ROUTES:
        return ()
    variables = _sent_variables(reference)
    if not variables:
        return ()
    address = reference.base_url
    if address is not None and not (address.isascii() and _ADDRESS.fullmatch(address)):
        raise NotAllowedError(
            f"the `base_url` of the model `{reference.name}` is not an address that a key can be sent to",
            remedy="write it as `https://HOST/v1`, in ASCII",
        )
    origin = _origin(reference)
    if origin is None:  # no server is configured in the environment either: nothing can be sent
        return ()
    return tuple(KeyGrant(name, origin) for name in variables if not _is_own(name, origin))


def missing_grants(reference: ModelReference) -> tuple[KeyGrant, ...]:
    """Return the required grants that the user has not given; raises as `needed_grants` does."""
    return missing_among(needed_grants(reference))


def is_allowed(reference: ModelReference) -> bool:
    """Return whether the model's key may be sent to its server."""
    try:
        return not missing_grants(reference)
    except NotAllowedError:
        return False


def missing_among(grants: Iterable[KeyGrant]) -> tuple[KeyGrant, ...]:
    """Return the grants that the user has given neither for this command nor permanently."""
    open_ones = tuple(dict.fromkeys(grant for grant in grants if grant not in _allowed.get()))
    if not open_ones:
        return ()
    granted = TrustStore().read().grants
    return tuple(grant for grant in open_ones if grant not in granted)


def check_grants(reference: ModelReference) -> None:
    """Raise NotAllowedError if using the model could send a key without the user's permission."""
    require(missing_grants(reference))


def require(missing: Iterable[KeyGrant], place: FilePlace | None = None) -> None:
    """Raise NotAllowedError for the first of the `missing` grants, with a remedy for all of them."""
    grants = list(missing)
    if not grants:
        return
    options = " ".join(f"--allow-key {grant}" for grant in grants)
    raise NotAllowedError(
        f"{describe_grant(grants[0])} is not allowed, and the project's settings ask for it",
        place,
        f"if you want that, allow it once with `promptls run {options}`, or for good with "
        f"`promptls trust --key {grants[0]}`",
    )


def describe_grant(grant: KeyGrant) -> str:
    """Return a description of what a grant allows, for use within a sentence."""
    if grant.variable == RAY_ADDRESS:
        return f"connecting to the Ray cluster at {grant.origin}"
    return f"sending the key in {grant.variable} to {grant.origin}"


@contextmanager
def granting(grants: Iterable[KeyGrant]) -> Iterator[None]:
    """Allow the grants within the `with` block only."""
    token = _allowed.set(_allowed.get() | frozenset(grants))
    try:
        yield
    finally:
        _allowed.reset(token)


def ray_grants(address: str | None, variables: Iterable[str]) -> tuple[KeyGrant, ...]:
    """Return the grants required to connect to a cluster whose address is in project settings.

    These are one for the connection, and one for each of the `variables`, which are sent to the nodes. An
    address that equals the user's `RAY_ADDRESS` needs none.
    """
    named = (address or "").strip()
    if not named or named in {"auto", "local"} or named == _environment(RAY_ADDRESS):
        return ()
    try:
        origin = origin_of(named if "://" in named else f"ray://{named}")
    except ValueError:
        raise NotAllowedError(
            f"`{named}` is not the address of a Ray cluster", remedy="write it as `host:6379`"
        ) from None
    sent = sorted({name for name in variables if not is_harmless(name)})
    return tuple(KeyGrant(name, origin) for name in (RAY_ADDRESS, *sent))


def _sent_variables(reference: ModelReference) -> tuple[str, ...]:
    if reference.provider == "bedrock" and reference.api_key_env is None:
        # Amazon's library uses the credentials of the environment, regardless of the address.
        return TABLE["bedrock"].key_envs
    return variables_of(reference)


def _origin(reference: ModelReference) -> str | None:
    provider = TABLE[reference.provider]
    return _origin_or_none(reference.base_url or _address_of_user(provider) or provider.base_url)


def _is_own(variable: str, origin: str) -> bool:
    """Return whether the variable belongs to the provider that owns the server."""
    return any(
        origin in {_origin_or_none(each.base_url), _origin_or_none(_address_of_user(each))}
        for each in TABLE.values()
        if variable in each.key_envs
    )


def _address_of_user(provider: Provider) -> str | None:
    return _environment(provider.base_url_env) if provider.base_url_env else None


def _environment(variable: str) -> str:
    """Return the value of an environment variable without white space around it; empty if it is not set."""
    return os.environ.get(variable, "").strip()


def _origin_or_none(address: str | None) -> str | None:
    try:
        return origin_of(address) if address else None
    except ValueError:
        return None
