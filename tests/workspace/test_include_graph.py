from __future__ import annotations

from promptls.workspace.include_graph import IncludeGraph

ROOTS = ("/project",)


def graph(**names: tuple[str, ...]) -> IncludeGraph:
    return IncludeGraph({f"/project/{path}": found for path, found in names.items()}, ROOTS)


def test_a_file_knows_who_names_it_after_an_edit_of_another() -> None:
    files = {"/project/a", "/project/b", "/project/c"}
    before = graph(a=("b",), b=(), c=())
    assert before.includers("/project/b", files.__contains__) == {"/project/a"}

    after = before.with_names("/project/c", ("b",))

    assert after.includers("/project/b", files.__contains__) == {"/project/a", "/project/c"}


def test_an_edit_looks_up_only_the_names_of_the_edited_file() -> None:
    looked_up: list[str] = []

    def exists(path: str) -> bool:
        looked_up.append(path)
        return True

    before = graph(a=("b",), b=(), c=("b",))
    before.includers("/project/b", exists)
    looked_up.clear()

    before.with_names("/project/c", ("a",)).includers("/project/b", exists)

    assert looked_up == ["/project/a"]


def test_a_file_that_appears_is_found_by_those_that_name_it() -> None:
    before = graph(a=("b",))
    assert before.includers("/project/b", {"/project/a"}.__contains__) == frozenset()

    after = before.with_names("/project/b", ())

    assert after.includers("/project/b", {"/project/a", "/project/b"}.__contains__) == {"/project/a"}
