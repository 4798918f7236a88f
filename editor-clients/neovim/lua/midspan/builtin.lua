-- Ghost text by Neovim's own vim.lsp.inline_completion (0.12), with the same functions as midspan.ghost.
local suggestion = require("midspan.suggestion")

local M = {}

function M.attach(buf)
  vim.lsp.inline_completion.enable(true, { bufnr = buf })
end

function M.detach(buf)
  vim.lsp.inline_completion.enable(false, { bufnr = buf })
end

--- Neovim asks by itself at the next key; it has no public function for asking at once.
function M.trigger() end

--- Puts in a part of an item; the server answers the rest without the model.
local function insert_part(item, part)
  local start = item.range.start
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local typed = vim.api.nvim_buf_get_text(0, start.row, start.col, row - 1, col, {})
  local rest = item.insert_text:sub(#table.concat(typed, "\n") + 1)
  suggestion.insert(0, row - 1, col, 0, suggestion.part_of(rest, part))
end

---@param part "all"|"word"|"line"
function M.accept(part)
  if vim.fn.pumvisible() == 1 then
    return false
  end
  if part == "all" then
    return vim.lsp.inline_completion.get()
  end
  return vim.lsp.inline_completion.get({
    on_accept = function(item)
      insert_part(item, part)
    end,
  })
end

function M.cycle(step)
  vim.lsp.inline_completion.select({ count = step })
  return true
end

--- Neovim drops what it shows when it is switched off.
function M.dismiss()
  local buf = vim.api.nvim_get_current_buf()
  M.detach(buf)
  M.attach(buf)
  return true
end

return M
