"""The keys of models: where they come from, how they are masked, and which server may get which.

A provider's own variable goes to the provider's own server without a question. Where the settings of a
project pair any other variable and server, the user must have given a `KeyGrant`: in a question, on the
command line, or by `promptls trust`. A program that names a server itself needs none.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from promptls.models.model import ModelError, ModelReference
from promptls.models.providers import TABLE, Provider
from promptls.security.environment import is_harmless, whole_environment
from promptls.security.trust import KeyGrant, TrustStore, origin_of
from promptls.text.errors import FilePlace, UsageError

_SECRET_NAME = re.compile(r"key|secret|token$|password|authorization|credential", re.IGNORECASE)

_BITS = 6
"""Bits of a character of base64."""


def forms_of(secret: str) -> Iterator[str]:
    """Yield the secret itself, and as it stands in a URL, in JSON and in base64."""
    yield secret
    yield quote(secret)
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield json.dumps(secret)[1:-1]
    yield from _in_base64(secret.encode("utf-8", "surrogateescape"))


def _in_base64(secret: bytes) -> Iterator[str]:
    """Yield what base64 of any text around the secret has in it, wherever the secret begins in there."""
    for before in range(3):
        encoded = b64encode(bytes(before) + secret).decode("ascii")
        # Characters at the ends also tell of what stands around the secret.
        core = encoded[-(-8 * before // _BITS) : 8 * (before + len(secret)) // _BITS]
        yield core
        yield core.translate({ord("+"): "-", ord("/"): "_"})


def model_secrets(reference: ModelReference) -> Iterator[str]:
    """Yield the secrets in the model's address and parameters: password, query, values named like keys."""
    if reference.base_url is not None:
        yield from _of_address(reference.base_url)
    yield from _of_parameters(reference.parameters)


def _of_address(address: str) -> Iterator[str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return
    password = parts.netloc.rpartition("@")[0].rpartition(":")[2]
    yield from (password, unquote(password))
    yield from (value for _, value in parse_qsl(parts.query))


def _of_parameters(parameters: Mapping[str, Any]) -> Iterator[str]:
    for name, value in parameters.items():
        if isinstance(value, dict):
            yield from _of_parameters(value)
        elif isinstance(value, str) and _SECRET_NAME.search(name):
            yield value


MASK = "[key]"

# A shorter value is hardly a secret, and would be found in many words.
SHORTEST = 8

# What stands where a long text is cut, and characters of a secret before it that tell something of it.
CUT = "…"
SHORTEST_PART = 4

_KEYS_SECRET_NAME = re.compile(
    r"(^|_)(KEY|TOKEN|SECRET|CREDENTIALS?)(_|$)|APIKEY|BEARER|PASSWORD|PASSWD", re.IGNORECASE
)


def key_of(reference: ModelReference, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the model's key; None if it needs none.

    Raises `ModelError` with the variable's name where a needed key is not there.
    """
    for variable in variables_of(reference):
        key = environment.get(variable, "").strip()
        if key:
            return key
    provider = TABLE[reference.provider]
    if reference.api_key_env is None and (not provider.needs_key or reference.base_url is not None):
        return None
    wanted = reference.api_key_env or provider.key_envs[0]
    raise ModelError(
        f"the model `{reference.name}` needs a key, and the environment variable `{wanted}` is not set",
        f"run `export {wanted}=…` in the shell that starts promptls",
    )


def variables_of(reference: ModelReference) -> tuple[str, ...]:
    """Return the variables that may hold the model's key; the first one that is set counts."""
    if reference.api_key_env is not None:
        return (reference.api_key_env,)
    # A server of one's own does not get the key of another's.
    return () if reference.base_url is not None else TABLE[reference.provider].key_envs


def variables_named_by(references: Iterable[ModelReference]) -> frozenset[str]:
    """Return the names of all variables that the models read: keys, addresses, and the AWS environment."""
    names: set[str] = set()
    for reference in references:
        names.update(variables_of(reference))
        if (address := TABLE[reference.provider].base_url_env) is not None:
            names.add(address)
        names.update(TABLE[reference.provider].credential_envs)
        if reference.provider == "bedrock":
            names.update(name for name in os.environ if name.startswith("AWS_"))
    return frozenset(names)


def key_remedy(reference: ModelReference, environment: Mapping[str, str] = os.environ) -> str:
    """Return what to do where the provider refuses the model's key, or wants one and gets none."""
    variables = variables_of(reference)
    there = next((name for name in variables if environment.get(name, "").strip()), None)
    if there is not None:
        return f"check the key in the environment variable `{there}`"
    if variables:
        return f"set the environment variable `{variables[0]}` to the key"
    return (
        f"name the variable that holds the key of this server: `api_key_env` of `models.{reference.name}` in "
        "`promptls.toml`"
    )


@dataclass(frozen=True, slots=True)
class KeyMask:
    """Takes secrets out of texts before they are shown or written."""

    secrets: tuple[str, ...]

    def mask(self, text: str) -> str:
        """`text` with every secret in it replaced by `[key]`, and the beginning of one that `…` cuts off."""
        for secret in self.secrets:
            if secret in text:
                text = text.replace(secret, MASK)
            if CUT in text and secret[:SHORTEST_PART] in text:
                text = CUT.join(map(partial(_without_beginning, secret), text.split(CUT)))
        return text

    def mask_all(self, value: Any) -> Any:
        """Return a value of JSON with every text in it masked, also those that are keys of a mapping."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, list):
            return [self.mask_all(item) for item in value]
        if isinstance(value, dict):
            return {self.mask_all(key): self.mask_all(item) for key, item in value.items()}
        return value


def _without_beginning(secret: str, text: str) -> str:
    """`text` without the beginning of the secret at its end."""
    for length in range(min(len(secret), len(text)), SHORTEST_PART - 1, -1):
        if text.endswith(secret[:length]):
            return text[:-length] + MASK
    return text


def key_mask(
    references: Iterable[ModelReference] = (),
    environment: Mapping[str, str] | None = None,
    variables: Iterable[str] = (),
) -> KeyMask:
    """Return the mask for the secrets of these models, of `variables`, and of variables named like keys.

    Secrets are masked in each of the forms that `forms_of` gives as well. Without an `environment` it is that
    of this process, with what `restricted_environment` hides.
    """
    references = tuple(references)
    environment = whole_environment() if environment is None else environment
    named = {*variables, *(name for reference in references for name in variables_of(reference))}
    values = [value for name, value in environment.items() if name in named or _KEYS_SECRET_NAME.search(name)]
    values += [secret for reference in references for secret in model_secrets(reference)]
    secrets = {value.strip() for value in values if len(value.strip()) >= SHORTEST}
    found = {form for secret in secrets for form in forms_of(secret)}
    # A secret that holds another one goes first, and leaves nothing of itself behind.
    return KeyMask(tuple(sorted(found, key=len, reverse=True)))


RAY_ADDRESS: Final = "RAY_ADDRESS"
"""The variable of a grant that allows a connection to a Ray cluster."""
_REMOTE_ROUTES: Final = frozenset({"chat", "library"})
_ADDRESS: Final = re.compile(
    r"https?://([^\s/?#\\@]*@)?([\w.-]+|\[[\da-f:.]+\])(:\d+)?([/?#][^\s\\]*)?", re.ASCII | re.IGNORECASE
)
"""Addresses that all libraries read alike, so that the server that is asked is the one that was allowed."""

_allowed: ContextVar[frozenset[KeyGrant]] = ContextVar("allowed_grants", default=frozenset())


class NotAllowedError(UsageError):
    """A key would be sent to a server for which the user has not allowed it."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the prompts of a model go, and in which variable the key is that goes with them."""

    model: str
    """Empty for a Ray cluster, on whose nodes the models are asked."""
    host: str
    """The origin of the server's address."""
    variable: str | None
    """None if no key is sent."""
    allowed: bool
    """Whether the user allows that the key is sent there."""

    def words(self) -> str:
        """Return what is sent where, as a plan shows it."""
        what = self.variable or ("prompts without a key" if self.model else "the models and their keys")
        return f"sends {what} to {self.host}" + ("" if self.allowed else " (not allowed yet)")


def destination_of(
    reference: ModelReference, environment: Mapping[str, str] = os.environ
) -> Destination | None:
    """Return where the model is asked; None for one on this machine, and for one without an address."""
    if TABLE[reference.provider].route not in _REMOTE_ROUTES:
        return None
    origin = _origin(reference, environment)
    if origin is None:
        return None
    variables = _sent_variables(reference)
    present = next((name for name in variables if environment.get(name, "").strip()), None)
    needs_key = TABLE[reference.provider].needs_key or reference.api_key_env is not None
    variable = present or (variables[0] if variables and needs_key else None)
    return Destination(reference.name, origin, variable, is_allowed(reference))


def needed_grants(
    reference: ModelReference, environment: Mapping[str, str] = os.environ
) -> tuple[KeyGrant, ...]:
    """Return what the user must have allowed before the model is asked.

    Raises NotAllowedError for an address that cannot be read in one way only.
    """
    if not reference.from_project or TABLE[reference.provider].route not in _REMOTE_ROUTES:
        return ()
    variables = _sent_variables(reference)
    if not variables:
        return ()
    if reference.base_url is not None and not _is_plain(reference.base_url):
        raise NotAllowedError(
            f"the `base_url` of the model `{reference.name}` is not an address that a key can be sent to",
            remedy="write it as `https://HOST/v1`, in ASCII",
        )
    origin = _origin(reference, environment)
    if origin is None:  # the user's environment names no server either: nothing can be sent
        return ()
    return tuple(KeyGrant(name, origin) for name in variables if not _is_own(name, origin, environment))


def missing_grants(reference: ModelReference) -> tuple[KeyGrant, ...]:
    """Return those of the needed grants that the user has not given; raises as `needed_grants`."""
    return missing_among(needed_grants(reference))


def is_allowed(reference: ModelReference) -> bool:
    """Return whether the model may be asked, as far as its key is concerned."""
    try:
        return not missing_grants(reference)
    except NotAllowedError:
        return False


def missing_among(grants: Iterable[KeyGrant]) -> tuple[KeyGrant, ...]:
    """Return the grants that the user has given neither for this command nor for good."""
    open_ones = tuple(dict.fromkeys(grant for grant in grants if grant not in _allowed.get()))
    if not open_ones:
        return ()
    given = TrustStore().read().grants
    return tuple(grant for grant in open_ones if grant not in given)


def check_grants(reference: ModelReference) -> None:
    """Raise NotAllowedError where opening the model could send a key that the user has not allowed."""
    require(missing_grants(reference))


def require(missing: Iterable[KeyGrant], place: FilePlace | None = None) -> None:
    """Raise NotAllowedError for the first of the `missing` grants, with what to do about all."""
    grants = list(missing)
    if not grants:
        return
    options = " ".join(f"--allow-key {grant}" for grant in grants)
    raise NotAllowedError(
        f"{what_is_asked(grants[0])} is not allowed, and the project's settings ask for it",
        place,
        f"if you want that, allow it once with `promptls run {options}`, or for good with "
        f"`promptls trust --key {grants[0]}`",
    )


def what_is_asked(grant: KeyGrant) -> str:
    """Return what a grant allows, in words for the middle of a sentence."""
    if grant.variable == RAY_ADDRESS:
        return f"connecting to the Ray cluster at {grant.origin}"
    return f"sending the key in {grant.variable} to {grant.origin}"


@contextmanager
def granting(grants: Iterable[KeyGrant]) -> Iterator[None]:
    """Allow the grants inside the `with` block, and forget them then."""
    token = _allowed.set(_allowed.get() | frozenset(grants))
    try:
        yield
    finally:
        _allowed.reset(token)


def ray_grants(
    address: str | None, variables: Iterable[str], environment: Mapping[str, str] = os.environ
) -> tuple[KeyGrant, ...]:
    """Return what a connection to a cluster needs whose address is in the settings of a project.

    That is the connection itself, and each of the `variables`, which are sent to its nodes. An address that
    the user has in `RAY_ADDRESS` as well needs nothing.
    """
    named = (address or "").strip()
    if not named or named in {"auto", "local"} or named == environment.get(RAY_ADDRESS, "").strip():
        return ()
    try:
        origin = origin_of(named if "://" in named else f"ray://{named}")
    except ValueError:
        raise NotAllowedError(
            f"`{named}` is not the address of a Ray cluster", remedy="write it as `host:6379`"
        ) from None
    sent = sorted({name for name in variables if not is_harmless(name)})
    return tuple(KeyGrant(name, origin) for name in (RAY_ADDRESS, *sent))


def _is_plain(address: str) -> bool:
    return address.isascii() and _ADDRESS.fullmatch(address) is not None


def _sent_variables(reference: ModelReference) -> tuple[str, ...]:
    if reference.provider == "bedrock" and reference.api_key_env is None:
        # Amazon's library takes the credentials of the environment, whatever the address is.
        return TABLE["bedrock"].key_envs
    return variables_of(reference)


def _origin(reference: ModelReference, environment: Mapping[str, str]) -> str | None:
    provider = TABLE[reference.provider]
    return _origin_or_none(reference.base_url or _address_of_user(provider, environment) or provider.base_url)


def _is_own(variable: str, origin: str, environment: Mapping[str, str]) -> bool:
    """Return whether the variable is that of a provider whose server this is."""
    return any(
        origin in {_origin_or_none(each.base_url), _origin_or_none(_address_of_user(each, environment))}
        for each in TABLE.values()
        if variable in each.key_envs
    )


def _address_of_user(provider: Provider, environment: Mapping[str, str]) -> str | None:
    return environment.get(provider.base_url_env, "").strip() if provider.base_url_env else None


def _origin_or_none(address: str | None) -> str | None:
    try:
        return origin_of(address) if address else None
    except ValueError:
        return None
