"""Keys from the environment, and the mask that keeps them out of everything that is written."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from promptls.models.model import ModelError, ModelReference
from promptls.models.providers import TABLE
from promptls.security.environment import whole_environment

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
