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
  if not vim.startswith(item.insert_text, typed) then
    return
  end
  local rest = item.insert_text:sub(#typed + 1)
  local taken = suggestion.part_of(rest, part)
  suggestion.insert(0, row, col, 0, taken)
  if taken == rest then
    suggestion.tell(item.client_id, item.command) -- Neovim does so only for what it puts in itself
  end
end

--- Whether Neovim shows something here. It has no function that tells; its marks do, unless their name changes.
local function is_shown()
  local namespace = vim.api.nvim_get_namespaces()["nvim.lsp.inline_completion"]
  return namespace == nil or #vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { limit = 1 }) > 0
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

--- Shows another. False if nothing is shown.
function M.cycle(step)
  local was_shown = is_shown()
  vim.lsp.inline_completion.select({ count = step })
  return was_shown
end

--- Neovim drops what it shows when it is switched off. False if nothing was shown.
function M.dismiss()
  local was_shown = is_shown()
  local buf = vim.api.nvim_get_current_buf()
  M.detach(buf)
  M.attach(buf)
  return was_shown
end

return M
