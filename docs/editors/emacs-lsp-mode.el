;; promptls in Emacs with lsp-mode: put this into ~/.emacs.d/init.el.  -*- lexical-binding: t -*-

(defun promptls-indent-line ()
  "Indent a new line to continue the YAML above; TAB aligns it with the next word above."
  (if (eq this-command 'indent-for-tab-command)
      (indent-relative)
    (indent-line-to
     (save-excursion
       (beginning-of-line)
       (skip-chars-backward " \n")
       (beginning-of-line)
       (if (looking-at " *\\(?:- \\)*\\([[:word:]_]+\\):\\( \\|$\\)")
           (+ (- (match-beginning 1) (point))
              (if (looking-at ".*:\\(?: [|>][-+0-9]*\\)?$") 2 0))
         (current-indentation))))))

(define-derived-mode promptls-mode text-mode "Prompt"
  "Mode for prompt templates: YAML with Jinja."
  (setq-local comment-start "{# "
              comment-end " #}"
              indent-line-function #'promptls-indent-line
              electric-indent-inhibit t ; indents the new line, not the one above
              indent-tabs-mode nil))
(add-to-list 'auto-mode-alist '("\\.ya?ml\\.j2\\'" . promptls-mode))

(with-eval-after-load 'lsp-mode
  (add-to-list 'lsp-language-id-configuration '(promptls-mode . "promptls"))
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection '("promptls"))
                    :activation-fn (lsp-activate-on "promptls")
                    ;; lsp-mode counts characters where other editors count UTF-16 units.
                    :initialization-options '(:positionEncoding "utf-32")
                    :server-id 'promptls)))
(autoload 'lsp-deferred "lsp-mode" nil t)
(add-hook 'promptls-mode-hook #'lsp-deferred)

;; The run commands are also code actions of the first line (M-x lsp-execute-code-action).
(defun promptls--execute (command &rest arguments)
  "Execute the server COMMAND for this prompt with ARGUMENTS and show the result."
  (lsp-request-async
   "workspace/executeCommand"
   (list :command command :arguments (vector (append (list :uri (lsp--buffer-uri)) arguments)))
   (lambda (result)
     (let ((document (lsp-get result :document)))
       (if document (find-file-other-window document)
         (message "%s" (lsp-get result :message)))))
   :error-handler (lambda (failure) (message "%s" (lsp-get failure :message)))
   :mode 'detached))

(defun promptls-preview ()
  "Show the rendered prompt."
  (interactive)
  (promptls--execute "promptls.preview"))

(defun promptls-ask ()
  "Ask the model about the first sample."
  (interactive)
  (promptls--execute "promptls.ask"))

(defun promptls-run (experiment)
  "Run EXPERIMENT of the prompt."
  (interactive "sExperiment: ")
  (promptls--execute "promptls.runExperiment" :experiment experiment))
