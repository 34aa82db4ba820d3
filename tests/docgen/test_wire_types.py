from __future__ import annotations

from pathlib import Path

import pytest

from promptls.docgen.generated_files import stale_files
from promptls.docgen.json_schemas import WIRE_TYPES, wire_types

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", sorted(wire_types()))
def test_the_types_of_the_extension_are_those_of_the_server(name: str) -> None:
    path = CHECKOUT / WIRE_TYPES / name
    assert path not in stale_files(CHECKOUT), "run `python -m promptls.docgen`"


def test_there_are_no_types_of_a_deleted_module() -> None:
    assert {path.name for path in (CHECKOUT / WIRE_TYPES).iterdir()} == set(wire_types())


def test_a_field_has_its_type_and_comment() -> None:
    text = wire_types()["preview.ts"]
    assert "  /** The template line where the part begins. */\n  line: number | null;\n" in text


def test_a_field_that_may_be_missing_is_optional() -> None:
    assert "  leftOut?: string | null | undefined;\n" in wire_types()["preview.ts"]


def test_a_type_of_another_file_is_imported() -> None:
    text = wire_types()["preview.ts"]
    assert 'import type { Lab } from "./lab";\n' in text
    assert "  found: Lab | null;\n" in text


def test_fields_of_a_base_come_first() -> None:
    text = wire_types()["preview.ts"]
    fields = text.partition("export interface DroppedExample {\n")[2].partition("}")[0]
    assert fields.startswith("  /** From 0. */\n  row: number;\n")
    assert fields.endswith("  label: string | null;\n")


@pytest.mark.parametrize("name", sorted(wire_types()))
def test_keys_are_in_camel_case(name: str) -> None:
    lines = (line for line in wire_types()[name].splitlines() if "/**" not in line)
    assert [line for line in lines if "_" in line.partition(":")[0]] == []
