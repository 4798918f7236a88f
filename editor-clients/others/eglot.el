;; Emacs 29 or newer, with eglot: the middle is offered by `completion-at-point' (C-M-i, company or corfu).
;; Eglot runs one server in a buffer: Midspan takes the place of the language's own.
(require 'eglot)
(add-to-list 'eglot-server-programs
             '((python-mode python-ts-mode)
               . ("midspan" "serve" :initializationOptions (:completion (:menu t)))))
(dolist (hook '(python-mode-hook python-ts-mode-hook))
  (add-hook hook #'eglot-ensure))
