-- The server, for vim.lsp.config: `cmd`, `filetypes` and `init_options` (the server's settings) are yours to change.
return {
  cmd = { "midspan", "serve" },
  filetypes = {
    "python", "javascript", "javascriptreact", "typescript", "typescriptreact", "go", "rust", "java", "c", "cpp",
  },
  root_markers = { ".git" },
  -- Neovim 0.11 knows the method, but does not say so
  capabilities = { textDocument = { inlineCompletion = { dynamicRegistration = false } } },
}
