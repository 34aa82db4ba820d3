"""A short random session with each kind of client; `make fuzz` runs the long ones."""

from __future__ import annotations

import pytest
from random_session import run
from session_clients import CLIENTS

from support.example_counts import THOROUGH


@pytest.mark.parametrize(("seed", "client"), list(enumerate(CLIENTS, start=1)))
def test_a_session_of_random_messages_leaves_the_server_right(seed: int, client: str) -> None:
    messages, check_every = (300, 150) if THOROUGH else (100, 100)
    run(messages, seed, check_every, client=client)
