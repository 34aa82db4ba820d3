; Colors of Jinja in prompt templates, for Neovim. Grammar: tree-sitter-jinja 0.13 (cathaysia).
; Where two patterns meet, the later one counts. The priority keeps the colors of tags above those of
; the YAML around them, whose strings reach over them.

(comment) @comment

((comment) @comment
  (#not-lua-match? @comment "^{#%-%-%-")
  (#set! priority 105))

([
    "{{"
    "{{-"
    "{{+"
    "}}"
    "-}}"
    "+}}"
    "{%"
    "{%-"
    "{%+"
    "%}"
    "-%}"
    "+%}"
  ] @punctuation.special
  (#set! priority 105))

([
    (raw_start)
    (raw_end)
  ] @keyword
  (#set! priority 105))

((raw_body) @string
  (#set! priority 105))

((identifier) @variable
  (#set! priority 105))

; What stands behind a dot; the filters behind it belong to the same expression.
((expression
    "."
    (expression
      (binary_expression
        . (unary_expression
          (primary_expression
            (identifier) @variable.member)))))
  (#set! priority 105))

((expression
    "."
    (expression
      (binary_expression
        . (binary_expression
          . (unary_expression
            (primary_expression
              (identifier) @variable.member))))))
  (#set! priority 105))

((expression
    "."
    (expression
      (binary_expression
        . (binary_expression
          . (binary_expression
            . (unary_expression
              (primary_expression
                (identifier) @variable.member)))))))
  (#set! priority 105))

((identifier) @variable.builtin
  (#any-of? @variable.builtin "loop" "self" "super" "caller" "varargs" "kwargs")
  (#set! priority 105))

((function_call
    (identifier) @function.call)
  (#set! priority 105))

; A filter: what stands behind a bar.
((binary_expression
    (binary_operator
      "|")
    (unary_expression
      (primary_expression
        (identifier) @function.method.call)))
  (#set! priority 105))

((binary_expression
    (binary_operator
      "|")
    (unary_expression
      (primary_expression
        (function_call
          (identifier) @function.method.call))))
  (#set! priority 105))

((macro_statement
    (function_call
      (identifier) @function.call))
  (#set! priority 105))

((arg
    (identifier) @variable.parameter)
  (#set! priority 105))

((string_literal) @string
  (#set! priority 105))

((number_literal) @number
  (#set! priority 105))

((float_literal) @number.float
  (#set! priority 105))

((boolean_literal) @boolean
  (#set! priority 105))

((null_literal) @constant.builtin
  (#set! priority 105))

([
    ","
    "."
    ":"
  ] @punctuation.delimiter
  (#set! priority 105))

([
    "("
    ")"
    "["
    "]"
  ] @punctuation.bracket
  (#set! priority 105))

([
    (binary_operator)
    (unary_operator)
  ] @operator
  (#set! priority 105))

((builtin_test) @function.builtin
  (#set! priority 105))

([
    (attribute_ignore)
    (attribute_context)
    "recursive"
  ] @keyword
  (#set! priority 105))

([
    "block"
    "with"
    "filter"
    "macro"
    "set"
    "call"
    (endblock_statement)
    (endwith_statement)
    (endfilter_statement)
    (endmacro_statement)
    (endcall_statement)
    (endset_statement)
  ] @keyword
  (#set! priority 105))

([
    "include"
    "import"
    "from"
    "extends"
    "as"
  ] @keyword.import
  (#set! priority 105))

([
    "if"
    "elif"
    (else_statement)
    (endif_statement)
  ] @keyword.conditional
  (#set! priority 105))

([
    "for"
      "break"
    "continue"
    (endfor_statement)
  ] @keyword.repeat
  (#set! priority 105))

((in_expression
    (binary_operator) @keyword.repeat)
  (#set! priority 105))
