"""Templates made by Hypothesis, with data for them: frames, texts and tags in every order and spacing."""

from __future__ import annotations

from hypothesis import strategies as st

SPACES = st.sampled_from(["", " ", "  ", "\n  "])
GAPS = st.sampled_from(["\n", "\n\n", "\n\n\n\n", "  \n", "\n  \n \n", "\n# a comment  \n\n\n"])
WORDS = st.sampled_from(
    ["", "a", "Hello", "two words", "a: b", "- c", "'", '"', "# d", "x  ", "\u00e9\u2028", "|"]
)
# A value that opens a quote, a bracket or a block in a bare place turns what follows into its own text.
VALUES = st.one_of(
    st.text(st.characters(exclude_characters="'\"[]{}|>"), max_size=8),
    st.integers(),
    st.booleans(),
    st.none(),
    st.lists(st.text(st.characters(exclude_characters="'\"[]{}|>"), max_size=3), max_size=3),
)
DATA = st.fixed_dictionaries({"a": VALUES, "b": VALUES, "c": st.lists(VALUES, max_size=3)})
ATOMS = st.sampled_from(
    ["a", "b", "1", "-1", "'x  y'", '"}}"', "c[0]", "c [ 1 : ]", "[ a,b ]", "{ 'k':a }", "(a)", "range( 2 )"]
)


@st.composite
def expressions(draw: st.DrawFn) -> str:
    pieces = [draw(ATOMS)]
    for _ in range(draw(st.integers(0, 3))):
        space = draw(SPACES)
        operator = draw(
            st.sampled_from(["~", "==", "|upper", "| default( 'z' )", " and ", " or not ", "is defined"])
        )
        pieces.append(space + operator + draw(SPACES))
        if operator[:1] not in "|i":
            pieces.append(draw(ATOMS))
    return "".join(pieces)


@st.composite
def outputs(draw: st.DrawFn) -> str:
    left, right = draw(st.sampled_from(["", "-"])), draw(st.sampled_from(["", "-"]))
    return f"{{{{{left}{draw(SPACES)}{draw(expressions())}{draw(SPACES)}{right}}}}}"


@st.composite
def statements(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    left, right = draw(st.sampled_from(["", "-"])), draw(st.sampled_from(["", "-", " "]))
    body, test = draw(inner), draw(expressions())
    kind = draw(st.sampled_from(["if", "for", "set", "else", "raw"]))
    if kind == "if":
        return f"{{%{left}if  {test}{right}%}}{body}{{%{left} endif{right}%}}"
    if kind == "else":
        return f"{{%if {test}%}}{body}{{%{left}else{right}%}}{body}{{%endif%}}"
    if kind == "for":
        return f"{{%{left} for x in  c{right}%}}{body}{{{{x}}}}{{%endfor%}}"
    if kind == "raw":
        return "{%raw%} {{x}}  {%endraw%}"
    return f"{{%{left}set  y={test}{right}%}}"


LINES = st.one_of(WORDS, outputs(), statements(WORDS), st.tuples(WORDS, outputs(), WORDS).map("".join))


@st.composite
def contents(draw: st.DrawFn, column: int) -> str:
    style = draw(st.sampled_from(["|", "|-", "|+", ">", "plain", "'", '"']))
    if style in {"plain", "'", '"'}:
        quote = "" if style == "plain" else style
        inside = draw(st.one_of(st.sampled_from(["b", "two  words"]), outputs())).replace("\n", " ")
        return quote + inside + quote + draw(st.sampled_from(["", "  ", "\t"]))
    indentation = " " * (column + draw(st.integers(1, 4)))
    lines = draw(st.lists(LINES, min_size=1, max_size=4))
    return style + draw(st.sampled_from(["", "  "])) + "".join(f"\n{indentation}{line}" for line in lines)


@st.composite
def parts(draw: st.DrawFn) -> str:
    dash = draw(st.sampled_from(["- ", "-   ", "-  "]))
    column = len(dash)
    spaces = st.sampled_from([": ", ":  ", " : "])
    keys = [f"name{draw(spaces)}p{draw(st.sampled_from(['', '  ']))}"]
    if draw(st.booleans()):
        keys.append(f"role{draw(spaces)}user")
    keys.append(f"content{draw(spaces)}{draw(contents(column))}")
    gap = draw(st.sampled_from(["\n", "\n\n\n"]))
    return dash + (gap + " " * column).join(keys)


@st.composite
def templates(draw: st.DrawFn) -> str:
    pieces = [draw(st.sampled_from(["", "\n\n\n", "{%set z=1%}\n\n\n", "{#a#}\n"]))]
    for part in draw(st.lists(parts(), min_size=1, max_size=3)):
        opening, closing = draw(
            st.sampled_from(
                [("", ""), ("{%if a%}\n\n\n", "\n{%endif%}"), ("{%for x in c%}\n", "\n {%endfor%} ")]
            )
        )
        pieces += [opening, part, closing, draw(GAPS)]
    text = "".join(pieces)
    return draw(st.sampled_from([text, text.rstrip(), text.replace("\n", "\r\n")]))
