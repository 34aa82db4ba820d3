;;; lsp-promptls.el --- lsp-mode client for promptls -*- lexical-binding: t; -*-

;; Keywords: languages, prompts, jinja, yaml

;;; Commentary:

;; Checks, previews and tests LLM prompt templates: `.yml.j2' files, which are YAML with Jinja.

;;; Code:

(require 'lsp-mode)

(defgroup lsp-promptls nil
  "LSP support for LLM prompt templates with promptls."
  :group 'lsp-mode)

(defcustom lsp-promptls-command '("promptls")
  "The command that starts the server."
  :type '(repeat string)
  :group 'lsp-promptls)

(add-to-list 'lsp-language-id-configuration '("\\.ya?ml\\.j2\\'" . "promptls"))

(lsp-register-client
 (make-lsp-client :new-connection (lsp-stdio-connection (lambda () lsp-promptls-command))
                  :activation-fn (lsp-activate-on "promptls")
                  ;; lsp-mode counts characters where other editors count UTF-16 units.
                  :initialization-options '(:positionEncoding "utf-32")
                  :server-id 'promptls))

(lsp-consistency-check lsp-promptls)

(provide 'lsp-promptls)
;;; lsp-promptls.el ends here
