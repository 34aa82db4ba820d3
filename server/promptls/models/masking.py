"""Masking of secrets in texts before they are displayed or stored."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

from promptls.models.keys import variables_of
from promptls.models.model import ModelReference
from promptls.security.processes import whole_environment

SECRET_NAME: Final = re.compile(r"key|secret|token$|password|authorization|credential", re.IGNORECASE)
_BITS: Final = 6
"""The bits of a character in base64."""


def url_without_secrets(url: str) -> str:
    """Return `url` without user name, password and query, any of which may be secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.rpartition("@")[2].partition("?")[0]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _forms_of(secret: str) -> Iterator[str]:
    """Yield the secret itself, and its encodings in a URL, in JSON and in base64."""
    yield secret
    yield quote(secret)
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield json.dumps(secret)[1:-1]
    yield from _in_base64(secret.encode("utf-8", "surrogateescape"))


def _in_base64(secret: bytes) -> Iterator[str]:
    """Yield the base64 text that encodes the secret at any offset within a longer text."""
    for before in range(3):
        encoded = b64encode(bytes(before) + secret).decode("ascii")
        # Characters at both ends also depend on the text around the secret.
        core = encoded[-(-8 * before // _BITS) : 8 * (before + len(secret)) // _BITS]
        yield core
        yield core.translate({ord("+"): "-", ord("/"): "_"})


def _model_secrets(reference: ModelReference) -> Iterator[str]:
    """Yield the secrets in the model's address and parameters: passwords, queries, values named like keys."""
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
        elif isinstance(value, str) and SECRET_NAME.search(name):
            yield value


_MASK: Final = "[key]"
_SHORTEST: Final = 8
"""The minimum length of a secret: shorter values are unlikely to be secrets, and occur in ordinary words."""
_CUT: Final = "…"
"""The end of a truncated text."""
_SHORTEST_PART: Final = 4
"""How many characters of a secret before the end of a truncated text are masked."""
_SECRET_VARIABLE: Final = re.compile(
    r"(^|_)(KEY|TOKEN|SECRET|CREDENTIALS?)(_|$)|APIKEY|BEARER|PASSWORD|PASSWD", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class KeyMask:
    """Replaces secrets in texts before they are displayed or stored."""

    secrets: tuple[str, ...]

    def mask(self, text: str) -> str:
        """Replace every secret in `text` by `[key]`, including beginnings of secrets truncated with `…`."""
        for secret in self.secrets:
            if secret in text:
                text = text.replace(secret, _MASK)
            if _CUT in text and secret[:_SHORTEST_PART] in text:
                text = _CUT.join(map(partial(_without_beginning, secret), text.split(_CUT)))
        return text

    def mask_all(self, value: Any) -> Any:
        """Return a JSON value with all texts in it masked, including keys of mappings."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, list):
            return [self.mask_all(item) for item in value]
        if isinstance(value, dict):
            return {self.mask_all(key): self.mask_all(item) for key, item in value.items()}
        return value


def _without_beginning(secret: str, text: str) -> str:
    """Mask a beginning of the secret at the end of `text`."""
    for length in range(min(len(secret), len(text)), _SHORTEST_PART - 1, -1):
        if text.endswith(secret[:length]):
            return text[:-length] + _MASK
    return text


def key_mask(
    references: Iterable[ModelReference] = (),
    environment: Mapping[str, str] | None = None,
    variables: Iterable[str] = (),
) -> KeyMask:
    """Return a mask for the secrets of these models, of `variables`, and of variables named like keys.

    The encodings returned by `_forms_of` are masked too. `environment` defaults to that
    of this process, including the variables that `restricted_environment` hides.
    """
    references = tuple(references)
    environment = whole_environment() if environment is None else environment
    named = {*variables, *(name for reference in references for name in variables_of(reference))}
    values = [value for name, value in environment.items() if name in named or _SECRET_VARIABLE.search(name)]
    values += [secret for reference in references for secret in _model_secrets(reference)]
    secrets = {value.strip() for value in values if len(value.strip()) >= _SHORTEST}
    found = {form for secret in secrets for form in _forms_of(secret)}
    # Secrets that contain other secrets are replaced first, so that no part of them remains.
    return KeyMask(tuple(sorted(found, key=len, reverse=True)))
