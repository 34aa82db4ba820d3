"""A prompt in Neovim, Vim and Emacs: diagnostics, hover, completion, rename, fixes, preview, runs."""

from __future__ import annotations

import shutil
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import tree_sitter_jinja
from real_editor import DOCS, QUERIES, Editor

from support.model_server import Reply, model_server


def test_a_finding_is_shown_at_its_place(editor: Editor) -> None:
    assert editor.run("diagnostics") == {
        "line": 16,
        "column": 9,
        "message": "no model knows the role `usr`; did you mean `user`?",
    }


def test_hover_on_an_input_describes_it(editor: Editor) -> None:
    shown = editor.run("hover").replace("`", "")
    assert "tone: input, string" in shown
    assert "How the answer is to sound." in shown


def test_inputs_are_offered_while_typing(editor: Editor) -> None:
    words = editor.run("completion")
    assert words[0] == "tone"


@pytest.mark.parametrize("editor", ["neovim.lua"], indirect=True)
def test_suggestions_follow_each_letter_and_insert_nothing_that_is_not_accepted(editor: Editor) -> None:
    part = "- name: end\n  role: user\n  content: |\n    {{ tone }}\n"
    assert editor.run("typing") == editor.text + part


@pytest.mark.parametrize("editor", ["vim-ale.vim"], indirect=True)
def test_new_lines_and_the_tabulator_indent_as_yaml_needs_it(editor: Editor) -> None:
    part = "- name: end\n  role: user\n  content: |\n    Hello: {{ tone }}\n      one\n"
    assert editor.run("typing") == editor.text + part


@pytest.mark.parametrize("editor", ["emacs-eglot.el", "emacs-lsp-mode.el"], indirect=True)
def test_a_new_line_is_indented_to_continue_the_yaml(editor: Editor) -> None:
    part = "- name: end\n  role: user\n  content: |\n    Hello: {{ tone }}\n\n    - one\n    - two\n    "
    assert editor.run("typing") == editor.text + part


def test_an_input_is_renamed_at_all_occurrences(editor: Editor) -> None:
    text = editor.text
    assert editor.run("rename") == text.replace("tone:", "manner:").replace("{{ tone }}", "{{ manner }}")


def test_a_fix_mends_the_text_and_takes_the_finding_away(editor: Editor) -> None:
    text = editor.text
    assert editor.run("code_action") == text.replace("usr", "user")


def test_the_preview_opens(editor: Editor) -> None:
    shown = editor.run("preview")
    assert "and answer in a kind tone." in shown


def test_the_model_is_asked_about_the_first_sample(editor: Editor) -> None:
    assert "My printer is lost." in editor.run("ask")


@pytest.mark.parametrize("editor", ["neovim.lua"], indirect=True)
def test_a_question_under_way_is_cancelled(editor: Editor) -> None:
    folder, release = editor.prompt.parent, threading.Event()
    with model_server() as server:
        server.reply = lambda _body: Reply(wait=release)
        settings = f'[models.slow]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
        (folder / "promptls.toml").write_text(settings)
        editor.prompt.write_text(editor.text.replace("[echo]", "[slow]"))
        subprocess.run(["promptls", "trust", folder], env=editor.environment, check=True)

        assert editor.run("cancel") == str(editor.prompt)
        release.set()


def test_an_experiment_runs_and_reports_its_score(editor: Editor) -> None:
    assert "2 rows: exact_match 0 %" in editor.run("run")
    table, *_ = (editor.prompt.parent / "experiments").glob("*.csv")
    assert len(table.read_text("utf-8").splitlines()) == 3


@pytest.mark.parametrize("editor", ["neovim.lua"], indirect=True)
def test_tree_sitter_colors_the_tags_with_the_queries_of_the_repository(editor: Editor) -> None:
    configuration = Path(editor.environment["HOME"]) / ".config" / "nvim"
    for folder, target in (("queries", QUERIES), ("parser", Path(tree_sitter_jinja.__file__).parent)):
        (configuration / folder).mkdir(parents=True)
        name, file = ("promptls", target) if folder == "queries" else ("jinja.so", next(target.glob("*.so")))
        (configuration / folder / name).symlink_to(file)
    assert editor.run("colors") == {
        "header": ["comment"],
        "input": ["variable"],
        "call": ["variable", "function.call"],
    }


@pytest.mark.parametrize("editor", ["neovim.lua"], indirect=True)
def test_the_entry_for_nvim_lspconfig_starts_the_server(editor: Editor, tmp_path: Path) -> None:
    plugin = tmp_path / "nvim-lspconfig"
    (plugin / "lsp").mkdir(parents=True)
    shutil.copy(DOCS / "upstream" / "nvim-lspconfig.lua", plugin / "lsp" / "promptls.lua")
    (tmp_path / "init.lua").write_text(
        f"vim.opt.runtimepath:append([[{plugin}]])\n"
        "vim.filetype.add({ pattern = { ['.*%.ya?ml%.j2'] = 'promptls' } })\n"
        "vim.lsp.enable('promptls')\n"
    )
    command = [str(tmp_path / "init.lua") if word.endswith("neovim.lua") else word for word in editor.command]
    shown = replace(editor, command=command).run("diagnostics")
    assert shown["message"] == "no model knows the role `usr`; did you mean `user`?"


@pytest.mark.parametrize("editor", ["emacs-lsp-mode.el"], indirect=True)
def test_the_entry_for_lsp_mode_starts_the_server(editor: Editor, tmp_path: Path) -> None:
    init = tmp_path / "init.el"
    entry = (DOCS / "upstream" / "lsp-promptls.el").read_text("utf-8")
    (tmp_path / "lsp-promptls.el").write_text(entry)
    init.write_text(
        f'(package-initialize)\n(load "{tmp_path / "lsp-promptls.el"}")\n'
        "(add-to-list 'auto-mode-alist '(\"\\\\.ya?ml\\\\.j2\\\\'\" . text-mode))\n"
        "(add-hook 'text-mode-hook #'lsp)\n"
    )
    command = [str(init) if word.endswith("emacs-lsp-mode.el") else word for word in editor.command]
    shown = replace(editor, command=command).run("diagnostics")
    assert shown["message"] == "no model knows the role `usr`; did you mean `user`?"
