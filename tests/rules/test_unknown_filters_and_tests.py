import pytest

from support.fixture import check_findings


@pytest.mark.parametrize(
    "line",
    [
        "{% for i in xs if i is od %}{{ i }}{% endfor %}\n                           ^^ unknown-test",
        "{% for i in xs if i | uper %}{{ i }}{% endfor %}\n                          ^^^^ unknown-filter",
        "{% filter uper %}x{% endfilter %}\n              ^^^^ unknown-filter",
        "{% if x | uper %}x{% endif %}\n              ^^^^ unknown-filter",
    ],
)
def test_filters_and_tests_are_known_wherever_an_expression_stands(line: str) -> None:
    check_findings(f"- name: a\n  content: |\n    {line}\n")
