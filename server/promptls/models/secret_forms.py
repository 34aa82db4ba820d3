"""The secrets of a model beside its key, and the forms in which a server may send a secret back."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from promptls.models.reference import ModelReference

_SECRET_NAME = re.compile(r"key|secret|token$|password|authorization|credential", re.IGNORECASE)

_BITS = 6
"""Bits of a character of base64."""


def forms_of(secret: str) -> Iterator[str]:
    """The secret itself, and as it stands in a URL, in JSON and in base64."""
    yield secret
    yield quote(secret)
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield json.dumps(secret)[1:-1]
    yield from _in_base64(secret.encode("utf-8", "surrogateescape"))


def _in_base64(secret: bytes) -> Iterator[str]:
    """What base64 of any text around the secret has in it, wherever the secret begins in there."""
    for before in range(3):
        encoded = b64encode(bytes(before) + secret).decode("ascii")
        # Characters at the ends also tell of what stands around the secret.
        core = encoded[-(-8 * before // _BITS) : 8 * (before + len(secret)) // _BITS]
        yield core
        yield core.translate({ord("+"): "-", ord("/"): "_"})


def model_secrets(reference: ModelReference) -> Iterator[str]:
    """What of the model's address and parameters is a secret: password, query, and values named like keys."""
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
