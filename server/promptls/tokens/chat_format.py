"""What a chat format adds to the tokens of the messages, where it is public.

OpenAI says of its chat models: each message is `<|im_start|>role<|im_sep|>content<|im_end|>`, and the
answer begins with three tokens more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from promptls.tokens.encodings import is_approximate

MESSAGE_TOKENS: Final = 4
"""Three marks, and the role, which is one token in every encoding."""
REPLY_TOKENS: Final = 3
"""What the answer begins with."""


def chat_tokens(contents: Iterable[int], encoding: str) -> int | None:
    """The tokens of a request whose messages have contents of so many tokens.

    None where the chat format of the encoding's or model's name is not public.
    """
    if is_approximate(encoding):
        return None
    return sum(tokens + MESSAGE_TOKENS for tokens in contents) + REPLY_TOKENS
