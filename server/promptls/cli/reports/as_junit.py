"""Findings as a JUnit report: one suite per prompt, one test case per finding."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from promptls.cli.checked import region_of, repository_path
from promptls.text.escape import for_terminal_line
from promptls.text.format import xml_text

if TYPE_CHECKING:
    from promptls.cli.checked import Checked, CheckedFile
    from promptls.lint.rule import Finding


def render(checked: Checked) -> str:
    """Return the report as XML.

    A finding that fails the check is a failed case, a less severe one a passing case with its text as output;
    a prompt without findings is one passing case. Invalid settings are errors.
    """
    from promptls.semantic.kind import Kind

    root = Element("testsuites", name="promptls")
    if checked.problems:
        _settings(root, checked)
    for file in checked.files:
        if file.kind is not Kind.OTHER:
            _suite(root, checked, file)
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(root: Element, checked: Checked, file: CheckedFile) -> None:
    path = xml_text(repository_path(file.path))
    failures = sum(checked.is_grave(finding) for finding in file.findings)
    suite = _add_suite(root, path, tests=max(1, len(file.findings)), failures=failures)
    for finding in file.findings:
        _case(suite, path, checked, file, finding)
    if not file.findings:
        SubElement(suite, "testcase", name="promptls", classname=path, file=path, time="0")


def _case(suite: Element, path: str, checked: Checked, file: CheckedFile, finding: Finding) -> None:
    line, column, *_ = region_of(file.text, finding.span)
    case = SubElement(
        suite,
        "testcase",
        name=f"{finding.rule} at {line}:{column}",
        classname=path,
        file=path,
        line=str(line),
        time="0",
    )
    message = xml_text(finding.message)
    where = f"{for_terminal_line(path)}:{line}:{column}"
    said = xml_text(f"{where}: {finding.severity} {finding.rule}: {finding.message}")
    if checked.is_grave(finding):
        SubElement(case, "failure", type=finding.rule, message=message).text = said
    else:
        SubElement(case, "system-out").text = said


def _settings(root: Element, checked: Checked) -> None:
    suite = _add_suite(root, "settings", tests=len(checked.problems), errors=len(checked.problems))
    for number, problem in enumerate(checked.problems, 1):
        name = repository_path(str(problem.place.path)) if problem.place else "settings"
        case = SubElement(suite, "testcase", name=f"setting {number}", classname=xml_text(name), time="0")
        where = f"{problem.place._replace(path=name).text()}: " if problem.place else ""
        message = xml_text(problem.message)
        SubElement(case, "error", type="settings", message=message).text = f"{xml_text(where)}{message}"


def _add_suite(root: Element, name: str, *, tests: int, failures: int = 0, errors: int = 0) -> Element:
    return SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(tests),
        failures=str(failures),
        errors=str(errors),
        skipped="0",
        time="0",
    )
