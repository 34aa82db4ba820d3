"""Keys out of the environment, and what keeps them out of everything that is written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from promptls.models.model import ModelError
from promptls.models.providers import TABLE
from promptls.models.reference import ModelReference
from promptls.models.secret_forms import forms_of, model_secrets

MASK = "[key]"

# A shorter value is hardly a secret, and would be found in many words.
SHORTEST = 8

# What stands where a long text is cut, and characters of a secret before it that tell something of it.
CUT = "…"
SHORTEST_PART = 4

_SECRET_NAME = re.compile(
    r"(^|_)(KEY|TOKEN|SECRET|CREDENTIALS?)(_|$)|APIKEY|BEARER|PASSWORD|PASSWD", re.IGNORECASE
)


def key_of(reference: ModelReference, environment: Mapping[str, str] = os.environ) -> str | None:
    """The model's key; None where it needs none.

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
    """The variables that may hold the model's key; the first one that is set counts."""
    if reference.api_key_env is not None:
        return (reference.api_key_env,)
    # A server of one's own does not get the key of another's.
    return () if reference.base_url is not None else TABLE[reference.provider].key_envs


def key_remedy(reference: ModelReference, environment: Mapping[str, str] = os.environ) -> str:
    """What to do where the provider refuses the model's key, or wants one and gets none."""
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
        """A value of JSON with every text in it masked, also those that are keys of a mapping."""
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
    environment: Mapping[str, str] = os.environ,
    variables: Iterable[str] = (),
) -> KeyMask:
    """The mask of the secrets of these models, of `variables`, and of what else is a secret by its name.

    Secrets are masked in each of the forms that `forms_of` gives as well.
    """
    references = tuple(references)
    named = {*variables, *(name for reference in references for name in variables_of(reference))}
    values = [value for name, value in environment.items() if name in named or _SECRET_NAME.search(name)]
    values += [secret for reference in references for secret in model_secrets(reference)]
    secrets = {value.strip() for value in values if len(value.strip()) >= SHORTEST}
    found = {form for secret in secrets for form in forms_of(secret)}
    # A secret that holds another one goes first, and leaves nothing of itself behind.
    return KeyMask(tuple(sorted(found, key=len, reverse=True)))
