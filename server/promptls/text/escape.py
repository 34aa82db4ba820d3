"""Escape foreign text for the place that displays it: a terminal, Markdown, a CI log, a message.

*Foreign* is everything that was not written by the user of this process: answers of models, errors of
providers, data, settings of a project, file names, descriptions, docstrings. The escapes here cannot be
reversed; text that programs parse has its own escapes, such as those of JSON.
"""

from __future__ import annotations

import re
from typing import Final

_CONTROLS: Final = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 except tab and line breaks, DEL, C1
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # characters that change the text direction
    r"\ud800-\udfff"  # surrogates, which no encoding can represent
)
_UNSAFE: Final = re.compile(rf"[{_CONTROLS}]|\r(?!\n)")
_UNSAFE_IN_LINE: Final = re.compile(rf"[{_CONTROLS}\t\n\r\u2028\u2029]")
_UNSAFE_IN_JSON: Final = re.compile(rf"[{_CONTROLS}]|#(?=#\w*\[)")
_SHORT: Final = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def for_terminal(text: str) -> str:
    r"""Return the text with visible escapes, such as `\x1b`, for characters that could control a terminal.

    Tabs and line breaks are unchanged.
    """
    return _UNSAFE.sub(_visible, text)


def for_terminal_line(text: str) -> str:
    """Return the text on one line: as `for_terminal`, with tabs and line breaks escaped too."""
    return _UNSAFE_IN_LINE.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    return character.encode("unicode_escape", "surrogatepass").decode()


def for_json_output(written: str) -> str:
    """Return serialized JSON with escapes for what could control a terminal or the log of a CI job."""
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


# -- logs of CI jobs ------------------------------------------------------------------------

# GitHub recognizes `::` after white space at the start of a line, and `##[` anywhere.
# Azure recognizes `##vso[` and `##[`, TeamCity `##teamcity[`.
_COMMAND: Final = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\w*\[)", re.MULTILINE)


def without_commands(text: str) -> str:
    """Return the text with visible escapes where a CI job would interpret a line of its log as a command."""
    return _COMMAND.sub(lambda found: r"\x23" if found[1] is None else rf"{found[1]}\x3a", text)


def annotation_message(text: str) -> str:
    """Return the text as the message of a GitHub workflow command; line breaks are preserved."""
    return for_terminal(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def annotation_property(text: str) -> str:
    """Return the text as the value of a property of a GitHub workflow command."""
    return annotation_message(text).replace(":", "%3A").replace(",", "%2C")


# -- Markdown -------------------------------------------------------------------------------

_MARKS: Final = re.compile(
    r"[\\`*\[\]<>&|~]|(?<![^\W_])_|_(?![^\W_])"
    r"|^[#=+-]|(?<=^\d)[.)]|(?<=^\d\d)[.)]"  # headings and lists, at the start
    r"|:(?=//)|(?<=www)\.|(?<=\w)@(?=\w)",  # addresses, which many programs turn into links
    re.IGNORECASE,
)
_CODE_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_FENCE: Final = re.compile(r"```(\w*)\s*")
_BULLET: Final = re.compile(r"\s*[-*+]\s+(?=\S)")
_ESCAPED: Final = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)|\\([!-/:-@\[-`{-~])", re.DOTALL)


def markdown_text(text: str) -> str:
    """Return the text as one line of Markdown that displays it literally.

    Line breaks and other white space become single spaces.
    """
    return _MARKS.sub(r"\\\g<0>", for_terminal(" ".join(text.split())))


def markdown_code(text: str) -> str:
    """Return the text as a code span on one line of Markdown; line breaks become spaces."""
    line = for_terminal(" ".join(text.split()))
    if not line:
        return "` `"
    fence = "`" * (_longest_run(line) + 1)
    # CommonMark removes one space from each side if both sides have one.
    padding = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{padding}{line}{padding}{fence}"


def markdown_fence(text: str, language: str = "") -> str:
    """Return the text as a fenced code block, with fences that the text cannot close."""
    fence = "`" * max(3, _longest_run(text) + 1)
    body = for_terminal(text).removesuffix("\n")
    return f"{fence}{language}\n{body}\n{fence}"


def markdown_prose(text: str) -> str:
    """Return foreign text as Markdown with its paragraphs, lists and code; everything else is escaped.

    For descriptions and docstrings, which often contain some Markdown.
    """
    blocks: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        fence = _FENCE.fullmatch(line)
        if fence is not None:
            body: list[str] = []
            for inside in lines:
                if inside.rstrip() == "```":
                    break
                body.append(inside)
            blocks.append(markdown_fence("\n".join(body), fence[1]))
        elif bullet := _BULLET.match(line):
            blocks.append(f"- {_with_code(line[bullet.end() :])}")
        else:
            blocks.append(_with_code(line))
    return "\n".join(blocks).strip("\n")


def _with_code(line: str) -> str:
    """Return one line, escaped except for its code spans."""
    pieces: list[str] = []
    end = 0
    for span in _CODE_SPAN.finditer(line):
        pieces += _add_spaces(line[end : span.start()])
        pieces.append(markdown_code(span[2]))
        end = span.end()
    return "".join([*pieces, *_add_spaces(line[end:])]).strip()


def _add_spaces(text: str) -> list[str]:
    """Return the text between code spans, with the surrounding white space as single spaces."""
    if not text.strip():
        return [" "] if text else []
    return [" " * text[0].isspace(), markdown_text(text), " " * text[-1].isspace()]


def without_markdown_escapes(text: str) -> str:
    """Return the text without the code span marks and backslashes that the functions here add."""
    return _ESCAPED.sub(lambda found: found[3] or _unpadded(found[2]), text)


def _unpadded(code: str) -> str:
    is_padded = code.startswith(" ") and code.endswith(" ") and "`" in {code[1:2], code[-2:-1]}
    return code[1:-1] if is_padded else code


def _longest_run(text: str) -> int:
    return max(map(len, re.findall(r"`+", text)), default=0)


# -- messages of editors --------------------------------------------------------------------

_MESSAGE_LINK: Final = re.compile(r"\](?=\()")


def for_message(text: str) -> str:
    """Return the text as a message that an editor shows in a window of its own.

    Some editors turn `[text](address)` into links there, including links that run a command.
    """
    return _MESSAGE_LINK.sub("] ", for_terminal(text))
