"""What the rules about parts say, case by case."""

from __future__ import annotations

import pytest

from support.fixture import check_findings, check_fix

FOUND = {
    "a space at the end of a block": (
        "- name: a\n  content: |\n    Question: \n             ^ stripped-whitespace: Prompt Poet strips this"
        " white space; `<|space|>` stays\n"
    ),
    "a space behind a printed value": (
        "- name: a\n  content: |\n    {{ escape_special_characters(b) }}  \n"
        "                                      ^^ stripped-whitespace\n"
    ),
    "a space in front, in quotes": "- name: a\n  content: ' b'\n            ^ stripped-whitespace\n",
    "escaped line breaks in double quotes": (
        '- name: a\n  content: "b\\n\\n"\n             ^^^^ stripped-whitespace: Prompt Poet strips this white space\n'
    ),
    "a deeper first line": ("- name: a\n  content: |2\n      b\n    ^^ stripped-whitespace\n    c\n"),
    "a section in the middle": (
        "- name: a\n  sections:\n    - name: b\n      content: 'c '\n"
        "                 ^ stripped-whitespace: Prompt Poet strips this white space; `<|space|>` stays\n"
        "    - name: d\n      content: e\n"
    ),
    "the last section": (
        "- name: a\n  sections:\n    - name: b\n      content: c\n    - name: d\n      content: 'e '\n"
        "                 ^ stripped-whitespace: Prompt Poet strips this white space at the edge of the part's"
        " last section\n"
    ),
    "a marker at the edge of sections": (
        "- name: a\n  sections:\n    - name: b\n      content: <|space|>c\n    - name: d\n"
        "      content: 'e<|space|>'\n"
        "                 ^^^^^^^^^ stripped-whitespace: Prompt Poet strips `<|space|>` here, at the edge of a"
        " part with `sections`\n"
    ),
    "tokens of a section": (
        "- name: a\n  sections:\n    - name: b\n      tokens: [1]\n      ^^^^^^ preset-tokens\n      content: c\n"
    ),
    "a priority of 0 is none": (
        "{#---\ntoken_limit: 10\n^^^^^^^^^^^ no-truncatable-part\n---#}\n"
        "- name: a\n  truncation_priority: 0\n  content: b\n"
    ),
    "a key twice in a section": (
        "- name: a\n  sections:\n    - name: b\n      content: c\n      content: d\n"
        "      ^^^^^^^ duplicate-part-key: `content` stands twice in this section; YAML drops the first one\n"
    ),
    "a line break in quotes is written with two backslashes": (
        '- name: a\n  content: "b\\\\nc\\nd"\n             ^^^ literal-line-break\n'
    ),
    "several written line breaks in one content": (
        "- name: a\n  content: |\n    b\\nc\\nd\n     ^^ literal-line-break: Prompt Poet makes a line break of"
        " `\\n`, and 1 more here\n"
    ),
    "a carriage return": (
        "- name: a\n  content: |\n    C:\\readme\n      ^^ literal-line-break: Prompt Poet makes a line break of `\\r`\n"
    ),
    "a filter block that escapes": (
        "- name: a\n  content: |\n    {% filter e %}b{% endfilter %}\n              ^ html-escape\n"
    ),
    "the values of a mapping": (
        "- name: a\n  content: |\n    {{ order.values | join }}\n             ^^^^^^ dict-method\n"
    ),
    "an if between lines": (
        "- name: a\n  content: |\n    b\n    {% if c %}\n       ^^ blank-line-from-tag: `if` on a line of its own leaves"
        " a blank line in the prompt, and 1 more tag here\n    d\n    {% endif %}\n    e\n"
    ),
    "a comment between lines": (
        "- name: a\n  content: |\n    b\n    {# c #}\n    ^^^^^^^ blank-line-from-tag: a comment on a line of its own"
        " leaves a blank line in the prompt\n    d\n"
    ),
    "the end of a loop, though nothing follows": (
        "- name: a\n  content: |\n    {% for b in range(3) %}\n    c\n    {% endfor %}\n"
        "       ^^^^^^ blank-line-from-tag: `endfor` on a line of its own leaves a blank line in the prompt\n"
    ),
    "an expected key that is a slip of a read one": (
        "- name: a\n  expected_template_data_keys: [usr]\n"
        "                                ^^^ conflicting-expected-keys: Prompt Poet refuses data without `usr`,"
        " and nothing reads it; did you mean `user`?\n  content: |\n    {{ escape_special_characters(user) }}\n"
    ),
    "a read variable that the expected keys leave out": (
        "- name: a\n  expected_template_data_keys: [user]\n  ^^^^^^^^^^^^^^^^^^^^^^^^^^^ conflicting-expected-keys:"
        " this part reads `text` too, and nobody says so where that is missing\n"
        "  content: |\n    {{ escape_special_characters(user ~ text) }}\n"
    ),
}

SILENT = {
    "a space in the middle of a block": "- name: a\n  content: |\n    b \n    c\n",
    "the line break that ends every block": "- name: a\n  content: |\n    b\n\n",
    "a marker": "- name: a\n  content: |\n    b<|space|>\n",
    "an escaped backslash before an n": '- name: a\n  content: "b\\\\"\n',
    "a space ahead of a line break in a section": (
        "- name: a\n  sections:\n    - name: b\n      content: |\n        c \n    - name: d\n      content: e\n"
    ),
    "a space around a plain value": "- name: a\n  content: b \n",
    "an empty quoted content with a printed value": "- name: a\n  content: '{{ escape_special_characters(b) }}'\n",
    "null tokens": "- name: a\n  tokens: null\n  content: b\n",
    "a priority that Jinja prints": (
        "{#---\ntoken_limit: 10\ninput_keys: [n]\n---#}\n- name: a\n  truncation_priority: {{ n }}\n  content: b\n"
    ),
    "a priority in an included file": (
        "-- main.yml.j2 --\n{#---\ntoken_limit: 10\n---#}\n- name: a\n  content: b\n{% include 'c.yml.j2' %}\n"
        "-- c.yml.j2 --\n- name: c\n  truncation_priority: 1\n  content: d\n"
    ),
    "an include that cannot be followed": (
        "{#---\ntoken_limit: 10\n---#}\n- name: a\n  content: b\n{% include c %}\n"
    ),
    "a key in two branches": (
        "- name: a\n  {% if b %}\n  content: c\n  {% else %}\n  content: d\n  {% endif %}\n"
    ),
    "a key that a branch overrides": "- name: a\n  role: user\n{% if b %}\n  role: system\n{% endif %}\n  content: c\n",
    "a line break that YAML reads": '- name: a\n  content: "b\\nc"\n',
    "a line break in a tag": "- name: a\n  content: |\n    {{ b | replace('\\n', ' ') }}\n",
    "a method that is called": "- name: a\n  content: |\n    {% for k, v in order.items() %}{{ k }}{% endfor %}\n",
    "an item": "- name: a\n  content: |\n    {{ order['items'] | join }}\n",
    "tags between parts": "- name: a\n  content: b\n{% if c %}\n- name: d\n  content: e\n{% endif %}\n",
    "tags that trim": "- name: a\n  content: |\n    b\n    {%- if c %}\n    d\n    {%- endif %}\n    e\n",
    "tags that trim behind": "- name: a\n  content: |\n    b\n    {% if c -%}\n    d {% endif %}\n    e\n",
    "tags at the edges of a content": "- name: a\n  content: |\n    {% if c %}\n    d\n    {% endif %}\n",
    "a tag on a line with text": "- name: a\n  content: |\n    b\n    {% if c %} d {% endif %}\n    e\n",
    "expected keys that are read": (
        "- name: a\n  expected_template_data_keys: [b]\n  content: |\n    {{ escape_special_characters(b) }}\n"
    ),
    "expected keys that are declared and passed on": (
        "{#---\ninput_keys: [b]\n---#}\n- name: a\n  expected_template_data_keys: [b]\n  content: c\n"
        "- name: d\n  content: |\n    {{ escape_special_characters(b) }}\n"
    ),
    "a reserved key is always there": "- name: a\n  expected_template_data_keys: [token_limit]\n  content: c\n",
}
RULES = (
    "stripped-whitespace",
    "preset-tokens",
    "no-truncatable-part",
    "duplicate-part-key",
    "literal-line-break",
    "html-escape",
    "dict-method",
    "blank-line-from-tag",
    "conflicting-expected-keys",
)


@pytest.mark.parametrize("fixture", FOUND.values(), ids=FOUND)
def test_a_mistake_in_a_part_is_found(fixture: str) -> None:
    check_findings(fixture)


@pytest.mark.parametrize("fixture", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of_what_is_right(fixture: str) -> None:
    check_findings(fixture)
    for rule in RULES:
        check_findings(fixture, rule)


FIXES = {
    "spaces stay as markers": (
        "- name: a\n  content: |\n    b  \n",
        "- name: a\n  content: |\n    b<|space|><|space|>\n",
        None,
    ),
    "tokens go": ("- name: a\n  tokens: [1]\n  content: b\n", "- name: a\n  content: b\n", None),
    "tokens at the end go": ("- name: a\n  content: b\n  tokens: [1]\n", "- name: a\n  content: b\n", None),
    "tokens in braces go": (
        "- {name: a, content: b, tokens: [1]}\n",
        "- {name: a, content: b}\n",
        None,
    ),
    "tokens ahead of the name go": (
        "- tokens: [1]\n  name: a\n  content: b\n",
        "- name: a\n  content: b\n",
        None,
    ),
    "the dropped key goes": (
        "- name: a\n  content: |\n    b\n  content: c\n",
        "- name: a\n  content: c\n",
        None,
    ),
    "written line breaks become real ones": (
        "- name: a\n  content: |\n    b\\nc\n",
        "- name: a\n  content: |\n    b\n    c\n",
        None,
    ),
    "HTML goes": (
        "- name: a\n  content: |\n    {{ b | e }}\n",
        "- name: a\n  content: |\n    {{ b }}\n",
        "Remove `e`",
    ),
    "HTML becomes YAML": (
        "- name: a\n  content: |\n    {{ b.c | trim | escape }}\n",
        "- name: a\n  content: |\n    {{ escape_special_characters(b.c | trim) }}\n",
        "Escape for YAML instead",
    ),
    "a key in brackets": (
        "- name: a\n  content: |\n    {{ order.items | join }}\n",
        "- name: a\n  content: |\n    {{ order['items'] | join }}\n",
        None,
    ),
    "lines of tags go": (
        "- name: a\n  content: |\n    b\n    {% if c %}\n    d\n    {% endif %}\n    e\n",
        "- name: a\n  content: |\n    b\n    {%- if c %}\n    d\n    {%- endif %}\n    e\n",
        None,
    ),
    "a blank line that is meant stays": (
        "- name: a\n  content: |\n    b\n\n    {% if c %}\n    d\n    {% endif %}\n    e\n",
        "- name: a\n  content: |\n    b\n\n    {% if c %}\n    d\n    {%- endif %}\n    e\n",
        None,
    ),
    "an expected key is spelt right": (
        "- name: a\n  expected_template_data_keys: [usr]\n  content: |\n    {{ escape_special_characters(user) }}\n",
        "- name: a\n  expected_template_data_keys: [user]\n  content: |\n    {{ escape_special_characters(user) }}\n",
        None,
    ),
    "a read variable is expected": (
        "- name: a\n  expected_template_data_keys: [b]\n  content: '{{ b }}{{ c }}'\n",
        "- name: a\n  expected_template_data_keys: [b, c]\n  content: '{{ b }}{{ c }}'\n",
        "Add `c`",
    ),
}


@pytest.mark.parametrize(("before", "after", "title"), FIXES.values(), ids=FIXES)
def test_a_fix_makes_a_part_right(before: str, after: str, title: str | None) -> None:
    check_fix(before, after, title)
