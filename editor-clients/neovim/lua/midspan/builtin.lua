-- Ghost text by Neovim's own vim.lsp.inline_completion (0.12), with the same functions as midspan.ghost.
local suggestion = require("midspan.suggestion")

local M = {}

function M.attach(buf)
  vim.lsp.inline_completion.enable(true, { bufnr = buf })
end

function M.detach(buf)
  vim.lsp.inline_completion.enable(false, { bufnr = buf })
end

--- Has Neovim ask as after a key: it has no public function for asking at once.
function M.trigger()
  vim.api.nvim_exec_autocmds("CursorMovedI", { buffer = 0 })
end

--- Puts in what is left of an item, or a part of that. Neovim's own would put in again what was typed since it was asked
--- for. The server answers the rest without the model.
local function insert_part(item, part)
  local start_row = item.range.start_row or item.range.start.row -- 0.12.0 had a position
  local start_col = item.range.start_col or item.range.start.col
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  row = row - 1
  if row < start_row or (row == start_row and col < start_col) then
    return
  end
  local typed = table.concat(vim.api.nvim_buf_get_text(0, start_row, start_col, row, col, {}), "\n")
  if vim.startswith(item.insert_text, typed) then
    suggestion.insert(0, row, col, 0, suggestion.part_of(item.insert_text:sub(#typed + 1), part))
  end
end

---@param part "all"|"word"|"line"
function M.accept(part)
  if suggestion.menu_open() then
    return false
  end
  return vim.lsp.inline_completion.get({
    on_accept = function(item)
      if part == "all" and not item.range:is_empty() then
        return item -- it replaces text, and Neovim knows how much
      end
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
