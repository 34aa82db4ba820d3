"""Text that XML can hold."""

from __future__ import annotations

import re
from typing import Final

# What XML 1.0 has no way to write, escaped or not.
_NO_XML: Final = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


def xml_text(text: str) -> str:
    """`text` without the characters that XML 1.0 has no way to write."""
    return _NO_XML.sub("�", text)
