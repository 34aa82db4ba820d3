; Colors of Jinja in prompt templates, for Helix. Grammar: tree-sitter-jinja 0.13 (cathaysia).
; Where two patterns meet, the later one counts.

(comment) @comment.block

[
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

[
  (raw_start)
  (raw_end)
] @keyword

(raw_body) @string

(identifier) @variable

; What stands behind a dot; the filters behind it belong to the same expression.
(expression
  "."
  (expression
    (binary_expression
      . (unary_expression
        (primary_expression
          (identifier) @variable.other.member)))))

(expression
  "."
  (expression
    (binary_expression
      . (binary_expression
        . (unary_expression
          (primary_expression
            (identifier) @variable.other.member))))))

(expression
  "."
  (expression
    (binary_expression
      . (binary_expression
        . (binary_expression
          . (unary_expression
            (primary_expression
              (identifier) @variable.other.member)))))))

((identifier) @variable.builtin
  (#any-of? @variable.builtin "loop" "self" "super" "caller" "varargs" "kwargs"))

(function_call
  (identifier) @function)

; A filter: what stands behind a bar.
(binary_expression
  (binary_operator
    "|")
  (unary_expression
    (primary_expression
      (identifier) @function.method)))

(binary_expression
  (binary_operator
    "|")
  (unary_expression
    (primary_expression
      (function_call
        (identifier) @function.method))))

(macro_statement
  (function_call
    (identifier) @function))

(arg
  (identifier) @variable.parameter)

(string_literal) @string

(number_literal) @constant.numeric.integer

(float_literal) @constant.numeric.float

(boolean_literal) @constant.builtin.boolean

(null_literal) @constant.builtin

[
  ","
  "."
  ":"
] @punctuation.delimiter

[
  "("
  ")"
  "["
  "]"
] @punctuation.bracket

[
  (binary_operator)
  (unary_operator)
] @operator

(builtin_test) @function.builtin

[
  (attribute_ignore)
  (attribute_context)
  "recursive"
] @keyword

[
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

[
  "include"
  "import"
  "from"
  "extends"
  "as"
] @keyword.control.import

[
  "if"
  "elif"
  (else_statement)
  (endif_statement)
] @keyword.control.conditional

[
  "for"
  "break"
  "continue"
  (endfor_statement)
] @keyword.control.repeat

(in_expression
  (binary_operator) @keyword.control.repeat)
