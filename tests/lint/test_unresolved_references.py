"""Template names that cannot be resolved: the suggested name, and the error of Jinja."""

from __future__ import annotations

from pathlib import Path

from support.fixture import check_findings


def test_files_on_disk_are_offered(tmp_path: Path) -> None:
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "history.yml.j2").write_text("- name: b\n  content: c\n")

    check_findings(
        "{% include 'sections/histroy.yml.j2' %}\n"
        "           ^^^^^^^^^^^^^^^^^^^^^^^^^ unresolved-include: there is no file `sections/histroy.yml.j2` "
        "next to this template; did you mean `sections/history.yml.j2`?\n"
        "- name: a\n  content: b\n",
        root=tmp_path,
    )


def test_files_in_a_folder_with_a_similar_name_are_offered(tmp_path: Path) -> None:
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "history.yml.j2").write_text("- name: b\n  content: c\n")

    check_findings(
        "{% include 'section/history.yml.j2' %}\n"
        "           ^^^^^^^^^^^^^^^^^^^^^^^^ unresolved-include: there is no file `section/history.yml.j2` "
        "next to this template; did you mean `sections/history.yml.j2`?\n"
        "- name: a\n  content: b\n",
        root=tmp_path,
    )
