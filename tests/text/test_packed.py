"""JSON files that may be compressed."""

from __future__ import annotations

import gzip

import pytest

from promptls.text import filenames as room
from promptls.text.filenames import is_json_file, pack_file, unpack_file


def test_a_packed_file_is_unpacked_and_another_is_as_it_is() -> None:
    assert unpack_file("a.JSON.gz", pack_file("a.JSON.gz", b"{}")) == b"{}"
    assert unpack_file("a.json", pack_file("a.json", b"{}")) == b"{}"
    assert [is_json_file(name) for name in ("a.json.gz", "a.json", "a.gz")] == [True, True, False]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"{}", "Not a gzipped", id="not packed"),
        pytest.param(gzip.compress(b"{}")[:-3], "not a whole", id="cut off"),
        pytest.param(gzip.compress(b"1234"), "more than", id="too large"),
    ],
)
def test_what_cannot_be_unpacked_is_reported(data: bytes, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_BYTES", 3)
    with pytest.raises(OSError, match=why):
        unpack_file("a.json.gz", data)
