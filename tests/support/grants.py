"""The user's consent to send a key to a server, in the configuration of the test session."""

from __future__ import annotations

from promptls.security.trust import KeyGrant, TrustStore, origin_of


def allow_key(variable: str, url: str) -> None:
    """Store that the key in `variable` may be sent to the server at `url`."""
    TrustStore().give([KeyGrant(variable, origin_of(url))])
