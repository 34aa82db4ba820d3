; Colors of Jinja in prompt templates, for Zed. Grammar: tree-sitter-jinja 0.13 (cathaysia).
; Where two patterns meet, the later one counts.

(comment) @comment

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
          (identifier) @property)))))

(expression
  "."
  (expression
    (binary_expression
      . (binary_expression
        . (unary_expression
          (primary_expression
            (identifier) @property))))))

(expression
  "."
  (expression
    (binary_expression
      . (binary_expression
        . (binary_expression
          . (unary_expression
            (primary_expression
              (identifier) @property)))))))

((identifier) @variable.special
  (#any-of? @variable.special "loop" "self" "super" "caller" "varargs" "kwargs"))

(function_call
  (identifier) @function)

; A filter: what stands behind a bar.
(binary_expression
  (binary_operator
    "|")
  (unary_expression
    (primary_expression
      (identifier) @function)))

(binary_expression
  (binary_operator
    "|")
  (unary_expression
    (primary_expression
      (function_call
        (identifier) @function))))

(macro_statement
  (function_call
    (identifier) @function))

(arg
  (identifier) @variable.parameter)

(string_literal) @string

(number_literal) @number

(float_literal) @number

(boolean_literal) @boolean

(null_literal) @constant

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

(builtin_test) @function

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
] @keyword

[
  "if"
  "elif"
  (else_statement)
  (endif_statement)
] @keyword

[
  "for"
  "break"
  "continue"
  (endfor_statement)
] @keyword

(in_expression
  (binary_operator) @keyword)
