;; Off in `--batch'.
(electric-indent-mode)
(goto-char (point-max))
(execute-kbd-macro "- name: end\rrole: user\rcontent: |\rHello: {{ tone }}\r\r- one\r- two\r")
(content)
