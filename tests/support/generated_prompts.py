"""Templates with data, made from a seed: everything that Prompt Poet does, valid and invalid."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from support.prompt_pieces import CHAT, EXPRESSIONS, FAILING, LOOPS, PLAIN, TEXTS, VALUES


class Case(NamedTuple):
    """Files by name, including `main.yml.j2`, and the arguments of its rendering."""

    files: dict[str, str]
    data: dict[str, Any]
    token_limit: int
    truncations: list[tuple[int | None, int | None]]
    """Pairs of limit and step for successive truncations."""
    allow_token_overrides: bool
    markers: dict[str, str] | None = None
    """Arguments of `Prompt` that change its markers."""


class Generator:
    """Makes cases; the same seed makes the same case."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.files: dict[str, str] = {}
        self.loop = ""
        self.is_calm = False
        """Whether the case contains no deliberate errors."""

    def case(self) -> Case:
        """Return the next case."""
        pick = self.random
        limit = pick.choice([-1, -1, 0, 1, 3, 7, 12, 20, 1000])
        truncations = [
            (pick.choice([None, -1, 0, 1, 2, 5, 9, 14, 40]), pick.choice([None, 0, 1, 1, 2, 5, 10]))
            for _ in range(3)
        ]
        self.files = {}
        self.is_calm = self.chance(0.5)
        text = self.document(depth=0)
        if self.chance(0.12):
            text = self.extended(text)
        if self.chance(0.05):
            text = text.replace("\n", "\r\n")
        if self.chance(0.04):
            text = "\ufeff" + text
        self.files["main.yml.j2"] = text
        return Case(self.files, self.data(), limit, truncations, self.chance(0.1))

    @property
    def is_chat(self) -> bool:
        """Return whether a loop over messages is open."""
        return self.loop.startswith("for message")

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def data(self) -> dict[str, Any]:
        pick = self.random
        text = lambda: pick.choice(TEXTS[:9] if self.is_calm else TEXTS)  # noqa: E731 - one word for what is asked for many times
        data: dict[str, Any] = {
            "a": text(),
            "b": text() if self.is_calm or self.chance(0.8) else pick.choice(VALUES),
            "n": pick.choice([0, 1, 2, 7, True, 1.5]),
            "names": [text() for _ in range(pick.randrange(4))],
            "user": {"name": text(), "items": [1, 2], "age": 30},
            "history": [
                {"role": pick.choice(["user", "assistant"]), "content": text(), "tags": [text()]}
                for _ in range(pick.randrange(5))
            ],
            "tree": [{"label": "r", "kids": [{"label": text(), "kids": []}, {"label": "s", "kids": []}]}],
            "flags": {"x": text(), "y": 2},
        }
        if self.is_calm:
            return data
        if self.chance(0.03):
            data[pick.choice(["token_limit", "escape_special_characters"])] = 1
        if self.chance(0.1):
            del data[pick.choice(["a", "history", "user"])]
        return data

    # -- the document

    def document(self, depth: int) -> str:
        pick = self.random
        pieces: list[str] = []
        if self.chance(0.15):
            pieces.append(
                pick.choice(["---\n", "# comment {{ a }}\n", "{# note #}\n", "\n", "{% set top = a %}\n"])
            )
        pieces += [self.item(depth) for _ in range(pick.randrange(1, 5))]
        text = "".join(pieces)
        if not self.is_calm and self.chance(0.06):
            text = pick.choice(
                [
                    "",
                    "[]",
                    "text",
                    "a: b",
                    "- x\n",
                    "- [1]\n",
                    "-\n",
                    "null",
                    "- sections\n",
                    "{}",
                    "5",
                    text + "---\n",
                ]
            )
        if self.chance(0.3):
            text = text.removesuffix("\n")
        return text

    def item(self, depth: int) -> str:
        pick = self.random
        choice = pick.random()
        if choice < 0.5 or depth > 2:
            return self.part()
        head = ""
        if choice < 0.62:
            head = pick.choice(LOOPS)
        around, self.loop = self.loop, head or self.loop
        inner = self.item(depth + 1)
        self.loop = around
        if head:
            other = "{% else %}\n" + self.part() if self.chance(0.2) else ""
            return f"{{% {head} %}}\n{inner}{other}{{% endfor %}}\n"
        if choice < 0.7:
            return (
                f"{{% if {pick.choice(['n', 'a', 'missing', 'names', 'not n'])} %}}\n{inner}{{% endif %}}\n"
            )
        if choice < 0.78:
            name = f"part{len(self.files)}.yml.j2"
            self.files[name] = inner
            written = pick.choice(
                [
                    f"'{name}'",
                    f"'./{name}'",
                    f"'/{name}'",
                    f"['nosuch', '{name}']",
                    f"'{name}' ignore missing",
                    "'nosuch' ignore missing",
                    f"'{name}' without context",
                ]
            )
            return f"{{% include {written} %}}\n"
        if choice < 0.84:
            name = f"lib{len(self.files)}.yml.j2"
            self.files[name] = (
                "{% macro part(x) %}- name: lib\n  content: '{{ x }}{{ a }}'\n{% endmacro %}{% set v = 5 %}"
            )
            written = pick.choice([f"import '{name}' as lib", f"import '{name}' as lib with context"])
            return f"{{% {written} %}}{{{{ lib.part({pick.choice(['a', 'n', '1'])}) }}}}{inner}"
        if choice < 0.9:
            given = pick.choice(["a", "n", ""])
            return "{% macro m(x, y=b) %}\n" + inner + "{% endmacro %}{{ m(" + given + ") }}\n"
        if choice < 0.95:
            changed = pick.choice(["", " | trim", " | upper"])
            return "{% set made %}\n" + inner + "{% endset %}{{ made" + changed + " }}\n"
        return f"{{% with x = a %}}\n{inner}{{% endwith %}}"

    def extended(self, text: str) -> str:
        self.files["base.yml.j2"] = f"{self.part()}{{% block body %}}\n{self.part()}{{% endblock %}}"
        shown = "{{ super() }}" if self.chance(0.5) else ""
        return f"{{% extends 'base.yml.j2' %}}{{% block body %}}\n{shown}{text}{{% endblock %}}"

    # -- parts

    def part(self) -> str:
        pick = self.random
        name = pick.choice(
            [
                "a",
                "part {{ loop.index }}" if self.loop else "b",
                "{{ a }}",
                "'quoted'",
                "12",
                "yes",
                "~",
                "[1]",
                "name {{ n }}",
            ]
            + ["p"] * 12
        )
        lines = [f"name: {name}"]
        if self.chance(0.6):
            roles = ["system", "user", "assistant", "wizard", "null", "yes", "'{{ b }}'"]
            lines.append(
                f"role: {pick.choice(['{{ message.role }}'] if self.is_chat and self.chance(0.6) else roles)}"
            )
        if self.chance(0.15):
            lines += self.sections()
        if not lines[-1].startswith(" ") or self.chance(0.05):
            lines += self.content()
        if self.chance(0.35):
            priorities = ["1", "1", "2", "3", "5", "0", "-1", "1.5", "yes"]
            more = [] if self.is_calm else ["high", "null"]
            lines.append(f"truncation_priority: {pick.choice(priorities + more)}")
        if self.chance(0.12):
            keys = pick.choice(
                ["[a]", "[a, b]", "[nosuch]", "a", "[]", "null", "5", "[token_limit]", "['{{ a }}']"]
            )
            lines.append(f"expected_template_data_keys: {keys}")
        if not self.is_calm and self.chance(0.05):
            lines.append(f"tokens: {pick.choice(['null', '[1, 2]', '[]', '5'])}")
        if self.chance(0.04):
            lines.append(
                pick.choice(
                    [
                        "contnet: x",
                        "5: x",
                        "nmae: y",
                        "role: again",
                        "content: again",
                        "<<: {role: tool}",
                        "name: &x again",
                    ]
                )
            )
        if not self.is_calm and self.chance(0.04):
            lines.pop(0)
        elif self.chance(0.3):
            rest = lines[1:]
            if not any(line.startswith(" ") for line in rest):
                pick.shuffle(rest)
                lines[1:] = rest
        return "- " + "\n  ".join(lines) + "\n"

    def sections(self) -> list[str]:
        pick = self.random
        if self.chance(0.1):
            return [
                pick.choice(
                    [
                        "sections: []",
                        "sections: x",
                        "sections:",
                        "sections: {}",
                        "sections: [1]",
                        "sections: [{name: x}]",
                    ]
                )
            ]
        lines = ["sections:"]
        for index in range(pick.randrange(1, 4)):
            lines.append(f"  - name: s{pick.choice([index, 0])}")
            lines += ["    " + line for line in self.content()]
            if self.chance(0.1):
                key = pick.choice(["truncation_priority: 3", "other: x", "tokens: [1]", "tokens: null"])
                lines.append(f"    {key}")
        return lines

    def content(self) -> list[str]:
        """Return the lines of a value, without the indentation of its mapping."""
        pick = self.random
        words = self.words()
        style = pick.choice(
            ["|", "|", "|", "|-", "|+", ">", ">-", ">+", "|2", "'", '"', "plain", "plain", "multi", "null"]
        )
        if style == "null":
            values = [
                "",
                "null",
                "5",
                "[x, {type: text}]",
                "yes",
                "2024-01-01",
                "!!str 5",
                "&a x",
                "!foo x",
                "|",
            ]
            return [f"content: {pick.choice(values)}"]
        if style[0] in "|>":
            body = words.replace("\n    ", "\n").split("\n")
            if self.chance(0.3):
                body.insert(pick.randrange(len(body) + 1), pick.choice(["", "  deeper", "{% if n %}", "   "]))
                if "{% if n %}" in body:
                    body.append("{% endif %}")
            return [f"content: {style}", *(f"  {line}" if line else "" for line in body)]
        flat = " ".join(words.split("\n"))
        if style == "plain":
            return [f"content: {flat}"]
        if style == "multi":
            return [f"content: {flat}", "  and more", "", "  {{ a }} last"]
        body = flat.replace("'", "''") if style == "'" and self.chance(0.8) else flat
        body = flat.replace("\\", "\\\\").replace('"', '\\"') if style == '"' and self.chance(0.5) else body
        more = pick.choice(["", "\n    folded", "\n\n    folded twice"]) if self.chance(0.3) else ""
        if style == '"' and self.chance(0.3):
            more += pick.choice(["\\n", "\\x41", "\\u00e9", "\\U0001F642", "\\\n    joined", "\\t", "\\\\n"])
        return f"content: {style}{body}{more}{style}".split("\n")

    def words(self) -> str:
        pick = self.random
        pieces = [
            pick.choice(PLAIN) if self.chance(0.5) else self.expression() for _ in range(pick.randrange(1, 4))
        ]
        return pick.choice([" ", "", "\n    "]).join(pieces)

    def expression(self) -> str:
        pick = self.random
        if not self.is_calm and self.chance(0.03):
            return pick.choice(FAILING)
        choice = pick.random()
        if self.is_chat and choice < 0.4:
            return pick.choice(CHAT)
        if choice < 0.75:
            return pick.choice(EXPRESSIONS)
        if choice < 0.85:
            head, inner = pick.choice(
                [
                    ("for x in names", "{{ x }},"),
                    ("for message in history", "{{ message.role }}: {{ message.content }} {{ loop.index }}"),
                    ("for k, v in flags.items()", "{{ k }}={{ v }};"),
                    ("for t in tree recursive", "<{{ t.label }}{{ loop(t.kids) }}>"),
                ]
            )
            return f"{{% {head} %}}{inner}{{% endfor %}}"
        if choice < 0.9:
            made = pick.choice(["upper", "trim", "indent(4)", "replace('x', 'yy')", "title"])
            return "{% filter " + made + " %}x {{ a }} y{% endfilter %}"
        if choice < 0.95:
            shown = pick.choice(
                [
                    "q",
                    "q | upper",
                    "q ~ q",
                    "q | replace('x', 'zz')",
                    "q | trim",
                    "q | length",
                    "q[1:]",
                    "escape_special_characters(q)",
                ]
            )
            return "{% set q %} x {{ a }} y {% endset %}{{ " + shown + " }}"
        macro = "{% macro w(x) %}[{{ x }}{{ caller() if caller }}]{% endmacro %}"
        return macro + "{{ w(a) }}{% call w(b) %}in {{ n }}{% endcall %}"
