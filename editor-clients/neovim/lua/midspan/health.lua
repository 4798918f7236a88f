-- :checkhealth midspan
local M = {}

local function check_server(program)
  if vim.fn.executable(program) == 0 then
    vim.health.error(program .. " is not an executable program", {
      "install it (`uv tool install 'midspan[local]'`, or pip in an environment), and put it on your PATH",
      "or give its full path: require('midspan').setup({ cmd = { '/path/to/midspan', 'serve' } })",
    })
    return
  end
  vim.health.ok("program: " .. vim.fn.exepath(program))
  local done = vim.system({ program, "doctor" }, { text = true }):wait(120000)
  local report = vim.trim(done.stdout or "")
  if done.code == 0 then
    vim.health.ok("midspan doctor:\n" .. report)
  else
    vim.health.error("midspan doctor:\n" .. report .. vim.trim(done.stderr or ""), { "`midspan fetch` gets the weights" })
  end
end

function M.check()
  vim.health.start("midspan")
  if vim.fn.has("nvim-0.11") == 0 then
    vim.health.error("Neovim 0.11 or newer is needed")
    return
  end
  vim.health.ok(vim.lsp.inline_completion and "ghost text: Neovim's own" or "ghost text: the plugin's own")
  local clients = vim.lsp.get_clients({ name = "midspan" })
  if #clients == 0 then
    vim.health.warn("no server runs", { "open a file of one of its filetypes", "call require('midspan').setup()" })
  end
  for _, client in ipairs(clients) do
    local text = ("server %d runs in %d buffers"):format(client.id, vim.tbl_count(client.attached_buffers))
    vim.health.ok(text)
    if not client:supports_method("textDocument/inlineCompletion") then
      vim.health.error("it does not offer inline completion", { "is `cmd` really midspan?" })
    end
  end
  check_server(require("midspan.server").program())
end

return M
