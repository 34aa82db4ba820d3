"""What the fixes of the rules about parts, names and syntax make of a text."""

from __future__ import annotations

import pytest

from support.fixture import check_fix

PART = "- name: a\n  content: b\n"
SUM = "- name: a\n  content: "
LOOP = "{% for x in y %}"
SUMMED = f"'{LOOP}{{% set n.value = n.value + x %}}{{% endfor %}}{{{{ n.value }}}}'"
TYPED = "{#---\ninput_keys: {user: {type: object, properties: {name: {type: string}}}}\n---#}\n"
FIXES = {
    "a slip of a key that is declared": (
        TYPED + "- name: a\n  content: '{{ user.nmae | tojson }}'\n",
        TYPED + "- name: a\n  content: '{{ user.name | tojson }}'\n",
        "Change to `name`",
    ),
    "both content and sections: the sections go": (
        "- name: a\n  content: b\n  sections:\n    - name: c\n      content: d\n  role: user\n",
        "- name: a\n  content: b\n  role: user\n",
        "Remove `sections`",
    ),
    "both content and sections: the content goes": (
        "- name: a\n  content: b\n  sections:\n    - name: c\n      content: d\n",
        "- name: a\n  sections:\n    - name: c\n      content: d\n",
        "Remove `content`",
    ),
    "a brace that is not closed": (
        "- name: a\n  content: |\n    {{ {1: b }}\n",
        "- name: a\n  content: |\n    {{ {1: b }}}\n",
        "Insert `}`",
    ),
    "a bracket that is not closed": (
        "- name: a\n  content: '{{ f(b }}'\n",
        "- name: a\n  content: '{{ f(b) }}'\n",
        "Insert `)`",
    ),
    "an end tag in two words": (
        "- name: a\n  content: '{% if b %}c{% end  if %}'\n",
        "- name: a\n  content: '{% if b %}c{% endif %}'\n",
        "Change to `endif`",
    ),
    "a tag with its letters in another order": (
        "- name: a\n  content: '{% fi b %}c{% endif %}'\n",
        "- name: a\n  content: '{% if b %}c{% endif %}'\n",
        "Change to `if`",
    ),
    "a part in braces without a name": (
        "- {role: user, content: a}\n",
        "- {name: part, role: user, content: a}\n",
        "Add a name",
    ),
    "a part in braces behind an anchor without a name": (
        "- &a {role: user, content: a}\n",
        "- &a {name: part, role: user, content: a}\n",
        "Add a name",
    ),
    "a key goes with its whole line break": (
        "- name: a\r\n  content: b\r\n  tokens: [1]\r\n",
        "- name: a\r\n  content: b\r\n",
        "Remove `tokens`",
    ),
    "a mark in front of a brace": (
        "prompt_template:\n  ice_token: </E>\n  template: </E>{a}'s\nretriever: {type: ZeroRetriever}\n",
        "prompt_template:\n  template: '{a}''s'\nretriever: {type: ZeroRetriever}\n",
        "Remove the `ice_token` and `</E>`",
    ),
    "a name that is taken": (
        f"{PART}- name: a\n  content: c\n- name: a 2\n  content: d\n",
        f"{PART}- name: a 3\n  content: c\n- name: a 2\n  content: d\n",
        "Give it a name of its own",
    ),
    "a part that lacks its content": (
        "- name: a\n  role: user\n- name: b\n  content: c\n",
        "- name: a\n  role: user\n  content: …\n- name: b\n  content: c\n",
        "Add `content`, to be filled in",
    ),
    "a part in braces that lacks its content": (
        "- {name: a, role: user}\n",
        "- {name: a, role: user, content: …}\n",
        None,
    ),
    "a section that lacks its content": (
        "- name: a\n  sections:\n    - name: b\n    - name: c\n      content: d\n",
        "- name: a\n  sections:\n    - name: b\n      content: …\n    - name: c\n      content: d\n",
        None,
    ),
    "an instruction that is not there": (
        "instruction:\ninput_keys: [a]\noutput_key: b\n",
        "instruction: …\ninput_keys: [a]\noutput_key: b\n",
        None,
    ),
    "a part without content": (
        f"{PART}- name: c\n  content:\n  role: user\n- name: d\n  content: e\n",
        f"{PART}- name: d\n  content: e\n",
        "Remove this part",
    ),
    "a priority in quotes": (
        '- name: a\n  truncation_priority: "5"\n  content: b\n',
        "- name: a\n  truncation_priority: 5\n  content: b\n",
        "Remove the quotes",
    ),
    "a sum over the turns of a loop": (
        f"{{% set n = 0 %}}\n{SUM}'{LOOP}{{% set n = n + x %}}{{% endfor %}}{{{{ n }}}}'\n",
        f"{{% set n = namespace(value=0) %}}\n{SUM}{SUMMED}\n",
        "Keep it in a namespace",
    ),
    "a number sign": (
        "- name: a\n  content: Ticket #1\n",
        '- name: a\n  content: "Ticket #1"\n',
        None,
    ),
    "a number sign behind quotes": (
        '- name: a\n  content: The "ticket" #1\n',
        '- name: a\n  content: |\n    The "ticket" #1\n',
        None,
    ),
    "a special token": ("- name: a\n  content: b<|endoftext|>\n", "- name: a\n  content: b\n", None),
    "a misspelt marker": (
        "- name: a\n  content: b<| space |>\n",
        "- name: a\n  content: b<|space|>\n",
        None,
    ),
    "an empty role": (
        "- name: a\n  role:\n  content: b\n",
        "- name: a\n  role: user\n  content: b\n",
        "Write `user`",
    ),
    "a role in an expression": (
        "- name: a\n  role: {{ 'usr' if b }}\n  content: c\n",
        "- name: a\n  role: {{ 'user' if b }}\n  content: c\n",
        None,
    ),
    "a value that is not in the enum": (
        "{#---\ninput_keys: {b: {enum: [a, brief]}}\n---#}\n- name: a\n  content: '{{ b == \"breif\" }}'\n",
        "{#---\ninput_keys: {b: {enum: [a, brief]}}\n---#}\n- name: a\n  content: '{{ b == \"brief\" }}'\n",
        "Change to `brief`",
    ),
    "a priority that grows": (
        "{% for b in c %}\n- name: a\n  truncation_priority: {{ loop.index }}\n  content: d{% endfor %}\n",
        "{% for b in c %}\n- name: a\n  truncation_priority: {{ loop.revindex }}\n  content: d{% endfor %}\n",
        None,
    ),
    "a dash without its space": ("-name: a\n  content: b\n", "- name: a\n  content: b\n", "Insert a space"),
    "end tags in the wrong order": (
        "- name: a\n  content: '{% for b in c %}{% if b %}d{% endfor %}{% endif %}'\n",
        "- name: a\n  content: '{% for b in c %}{% if b %}d{% endif %}{% endfor %}'\n",
        "Swap the two end tags",
    ),
    "the wrong end tag": (
        "- name: a\n  content: '{% for b in c %}{% if b %}d{% endfor %}{% endfor %}'\n",
        "- name: a\n  content: '{% for b in c %}{% if b %}d{% endif %}{% endfor %}'\n",
        "Change to `endif`",
    ),
    "a raw block that is not closed": (
        "- name: a\n  content: '{% raw %}{{ b }}'\n",
        "- name: a\n  content: '{% raw %}{{ b }}{% endraw %}'\n",
        None,
    ),
    "a reserved input": (
        "{#---\ninput_keys: [token_limit, b]\n---#}\n- name: a\n  content: '{{ b }}{{ token_limit }}'\n",
        "{#---\ninput_keys: [b]\n---#}\n- name: a\n  content: '{{ b }}{{ token_limit }}'\n",
        "Remove `token_limit` from `input_keys`",
    ),
    "an unused input in brackets": (
        "{#---\ninput_keys: [b, c]\n---#}\n- name: a\n  content: '{{ b }}'\n",
        "{#---\ninput_keys: [b]\n---#}\n- name: a\n  content: '{{ b }}'\n",
        None,
    ),
    "the only input": (
        "{#---\ninput_keys: [b]\n---#}\n- name: a\n  content: c\n",
        "{#---\ninput_keys: []\n---#}\n- name: a\n  content: c\n",
        None,
    ),
    "an unused input on its line": (
        "{#---\ninput_keys:\n  - b\n  - c\n---#}\n- name: a\n  content: '{{ c }}'\n",
        "{#---\ninput_keys:\n  - c\n---#}\n- name: a\n  content: '{{ c }}'\n",
        None,
    ),
    "an unused input with its schema": (
        "{#---\ninput_keys:\n  b: {}\n  c:\n    type: string\n---#}\n- name: a\n  content: '{{ b }}'\n",
        "{#---\ninput_keys:\n  b: {}\n---#}\n- name: a\n  content: '{{ b }}'\n",
        None,
    ),
    "an unused variable": (f"{{% set b = 1 %}}\n{PART}", PART, None),
    "an unused variable with a body": (f"{{% set b %}}\nc\n{{% endset %}}\n{PART}", PART, None),
    "an unused macro": (f"{{% macro b() %}}c{{% endmacro %}}\n{PART}", PART, None),
    "an unused import": (
        (
            f"-- main.yml.j2 --\n{{% import 'm.yml.j2' as m %}}\n{PART}"
            "-- m.yml.j2 --\n{% macro b() %}c{% endmacro %}\n"
        ),
        PART,
        None,
    ),
    "one of two imports": (
        (
            "-- main.yml.j2 --\n{% from 'm.yml.j2' import b, c as d %}\n- name: a\n  content: '{{ b() }}'\n"
            "-- m.yml.j2 --\n{% macro b() %}x{% endmacro %}{% macro c() %}x{% endmacro %}\n"
        ),
        "{% from 'm.yml.j2' import b %}\n- name: a\n  content: '{{ b() }}'\n",
        None,
    ),
    "an expression that is not closed": (
        "- name: a\n  content: |\n    {{ b\n",
        "- name: a\n  content: |\n    {{ b }}\n",
        "Insert `}}`",
    ),
    "an expression that is half closed": (
        "- name: a\n  content: |\n    {{ b }\n",
        "- name: a\n  content: |\n    {{ b }}\n",
        "Insert `}`",
    ),
    "a statement that is not closed": (
        "- name: a\n  content: |\n    {% set b = 1\n",
        "- name: a\n  content: |\n    {% set b = 1 %}\n",
        "Insert `%}`",
    ),
    "an expression that is closed as a statement": (
        "- name: a\n  content: |\n    {{ b %}\n",
        "- name: a\n  content: |\n    {{ b }}\n",
        "Change `%}` to `}}`",
    ),
    "a comment that is not closed": (
        "- name: a\n  content: |\n    b {# c\n",
        "- name: a\n  content: |\n    b {# c #}\n",
        None,
    ),
    "a tag that is misspelt": (
        "- name: a\n  content: |\n    {% sett b = 1 %}\n",
        "- name: a\n  content: |\n    {% set b = 1 %}\n",
        "Change to `set`",
    ),
    "an if on one line": (
        "- name: a\n  content: |\n    b {% if c %} d\n    e\n",
        "- name: a\n  content: |\n    b {% if c %} d{% endif %}\n    e\n",
        "Insert `{% endif %}`",
    ),
    "a loop in a block": (
        "- name: a\n  content: |\n    {% for b in c %}\n    d\n    e\n  role: user\n",
        "- name: a\n  content: |\n    {% for b in c %}\n    d\n    e\n    {% endfor %}\n  role: user\n",
        "Insert `{% endfor %}`",
    ),
    "a loop around parts": (
        f"{{% for b in c %}}\n{PART}",
        f"{{% for b in c %}}\n{PART.rstrip()}\n{{% endfor %}}\n",
        "Insert `{% endfor %}`",
    ),
    "an if inside of a loop that is closed": (
        f"{{% for b in c %}}\n{{% if b %}}\n{PART}{{% endfor %}}\n",
        f"{{% for b in c %}}\n{{% if b %}}\n{PART}{{% endif %}}\n{{% endfor %}}\n",
        "Insert `{% endif %}`",
    ),
    "an end without a beginning": (f"{PART}{{% endif %}}\n", PART, "Remove this tag"),
    "a key without its colon": (
        "- name: a\n  role user\n  content: b\n",
        "- name: a\n  role: user\n  content: b\n",
        "Write `role: `",
    ),
    "a key without its space": (
        "- name: a\n  role:user\n  content: b\n",
        "- name: a\n  role: user\n  content: b\n",
        "Write `role: `",
    ),
    "a tab": (
        "- name: a\n  content: |\n    b\n\trole: user\n",
        "- name: a\n  content: |\n    b\n  role: user\n",
        "Indent with spaces",
    ),
    "a colon in a plain value": (
        "- name: a\n  content: b: c\n",
        "- name: a\n  content: 'b: c'\n",
        "Quote the value",
    ),
    "a character that begins no value": (
        "- name: a\n  content: @b isn't\n",
        "- name: a\n  content: '@b isn''t'\n",
        "Quote the value",
    ),
    "a quote that is not closed": (
        "- name: a\n  content: 'b\n",
        "- name: a\n  content: 'b'\n",
        "Close the quote at the end of the line",
    ),
    "a line break that a tag takes away behind the sign of a block": (
        "- name: a\n  content: |\n    {%- if x -%}\n    {{ x }}\n    {%- endif %}\n",
        "- name: a\n  content: |\n    {% if x -%}\n    {{ x }}\n    {%- endif %}\n",
        "Keep the line break",
    ),
}


@pytest.mark.parametrize(("before", "after", "title"), FIXES.values(), ids=FIXES)
def test_a_fix_mends_the_text(before: str, after: str, title: str | None) -> None:
    check_fix(before, after, title)
