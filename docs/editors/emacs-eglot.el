;; promptls in Emacs 29 or later with its own Eglot, or in an older Emacs with Eglot from GNU ELPA:
;; put this into ~/.emacs.d/init.el.  -*- lexical-binding: t -*-

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

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(promptls-mode . ("promptls"))))
(add-hook 'promptls-mode-hook #'eglot-ensure)

(autoload 'browse-url-file-url "browse-url")

;; The run commands are also code actions of the first line (M-x eglot-code-actions).
(defun promptls--execute (command &rest arguments)
  "Execute the server COMMAND for this prompt with ARGUMENTS and show the result."
  (jsonrpc-async-request
   (or (eglot-current-server) (user-error "The server does not run here"))
   :workspace/executeCommand
   (list :command command
         :arguments (vector (append (list :uri (browse-url-file-url buffer-file-name)) arguments)))
   :success-fn (lambda (result)
                 (let ((document (plist-get result :document)))
                   (if document (find-file-other-window document)
                     (message "%s" (plist-get result :message)))))
   :error-fn (lambda (failure) (message "%s" (plist-get failure :message)))
   :timeout 3600))

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
