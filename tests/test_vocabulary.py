"""Words that have a standard term are not used; `docs/glossary.md` explains the terms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = [
    *(ROOT / "server" / "promptls").rglob("*.py"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "vscode-client" / "src").rglob("*.ts"),
    *(ROOT / "vscode-client" / "web" / "src").rglob("*.ts*"),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "server" / "ARCHITECTURE.md",
]
# Each pattern, and what to write instead.
DENIED = {
    r"\bWrongUse\b": "UsageError",
    r"\braises? Failure\b|\braise Failure\b|\bimport Failure\b": "UserError",
    r"\b_?MOST_[A-Z]": "MAX_…",
    r"\bREADY_|\bready metrics?\b": "built-in",
    r"\b(is_)?slips?(_of|_in)?\b(?! into)": "typo",
    r"\b[Dd]ata sets?\b": "dataset",
    r"\bunited\(|\bgathered\(|\blooks_at\b": "a fact (`promptls.syntax.facts`)",
    r"\blook_again\b": "refresh",
    r"\bMethodTable\b|\bmethod_table\b": "features",
    r"\bmend(s|ed|ing)?\b|Mended\b": "fix",
    r"\b(render_|_)newest\b|\bnewest\.|\bnewest run\b": "latest",
    r"\bRelatedPlace\b": "RelatedInformation",
    r"\breadings?_(of|in|at)\b|\b[Rr]eadings\b": "reference; variant of a chunk",
    r"\bWay(In)?\b|\bways?_(to|of|from)\b": "access path, include chain",
    r"\b_?tell: |\bTell\b[],:|=]": "notify",
    r"\bWalk\b": "FlowAnalysis",
    r"\bmost(: int|=\w)|\.most\b|\.typical\b": "limit, maximum, median",
    r"\b(sample|iterations|clause|entries|type|item)_words\b": "describe_…",
    r"\b_?wanted\b|\bis_wanted\b|[a-z]Wanted\b": "required, requested, expected",
    r"\b_?asked = |\basked_\w+\b|\bASKED\b": "requested, queried",
    r"\b_?(held|settled) = |\bkept_by_|\bsettled\w*\(": "cached, retained, resolved",
    r"\b\w*[Oo]bjections?\b": "problem",
    r"\b\w*[Mm]isfits?\b": "mismatch",
    r"\b[Ss]teadily\b|\bSteady[A-Z]|\bPace\b": "retry, rate limit",
    r"\b\w*[Dd]oubtful\b": "suspicious",
    r"\b[Ss]ilence[sd]?\b": "suppress",
    r"\bnone where\b|\bNone where\b": "none if",
    r"[Mm]isspelt|[Cc]olour|[Bb]ehaviour|[Nn]eighbour|[Aa]nalys(e|ed|ing)\b|[Ll]abelled(?!by)|[Aa]rtefact|\b[Cc]entre\b"
    r"|\b[Ll]icence": "American spelling",
}
# The glossary maps old words to the terms.
EXCEPT = {ROOT / "docs" / "glossary.md"}
TEXTS = {path: path.read_text("utf-8") for path in sorted(set(FILES) - EXCEPT)}


@pytest.mark.parametrize("pattern", DENIED, ids=DENIED.values())
def test_a_word_with_a_standard_term_is_not_used(pattern: str) -> None:
    denied = re.compile(pattern)
    found = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path, text in TEXTS.items()
        for match in denied.finditer(text)
    ]
    assert found == [], f"write {DENIED[pattern]}"
