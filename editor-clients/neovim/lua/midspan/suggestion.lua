-- A suggestion against the text of its buffer, which it reads, and changes only in `insert`. Columns are bytes, rows and columns count from 0.
local M = {}

---@class midspan.Suggestion
---@field row integer where the text begins
---@field col integer
---@field text string all of it, also what is typed already
---@field before string what stands before it on its line
---@field after string what stands behind the cursor on its line
---@field n_replaced integer bytes of `after` that the text takes the place of
---@field command lsp.Command? what the server wants to be told once all of it is taken over

--- A suggestion from an item of the server's answer; nil if it is not for the cursor's line.
---@return midspan.Suggestion?
function M.of_item(item, row, col, line, encoding)
  local text = type(item.insertText) == "table" and item.insertText.value or item.insertText
  local first, last = col, col
  if item.range then
    if item.range.start.line ~= row or item.range["end"].line ~= row then
      return nil
    end
    first = vim.str_byteindex(line, encoding, item.range.start.character, false)
    last = math.max(col, vim.str_byteindex(line, encoding, item.range["end"].character, false))
  end
  if first > col then
    return nil
  end
  return {
    row = row,
    col = first,
    text = text,
    before = line:sub(1, first),
    after = line:sub(col + 1),
    n_replaced = last - col,
    command = item.command,
  }
end

--- What is still to be typed with the cursor at row and col; nil if the suggestion is none there, or all of it is typed.
---@return string?
function M.rest(suggestion, buf, row, col)
  local first = vim.api.nvim_buf_get_lines(buf, suggestion.row, suggestion.row + 1, false)[1]
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
  if not first or not line or row < suggestion.row or (row == suggestion.row and col < suggestion.col) then
    return nil
  end
  if first:sub(1, suggestion.col) ~= suggestion.before or line:sub(col + 1) ~= suggestion.after then
    return nil
  end
  local typed = table.concat(vim.api.nvim_buf_get_text(buf, suggestion.row, suggestion.col, row, col, {}), "\n")
  if not vim.startswith(suggestion.text, typed) or #typed == #suggestion.text then
    return nil
  end
  return suggestion.text:sub(#typed + 1)
end

--- The part of a rest to take over: all of it, its next word with the space before, or what is left of the line.
---@param part "all"|"word"|"line"
function M.part_of(rest, part)
  if part == "word" then
    return vim.fn.matchstr(rest, [[^\_s*\%(\k\+\|\%(\k\@!\S\)\+\)\?]])
  elseif part == "line" then
    return rest:match("^\n?[^\n]*")
  end
  return rest
end

--- Puts text in at row and col, in place of the bytes behind; the cursor goes to its end.
function M.insert(buf, row, col, n_replaced, text)
  local lines = vim.split(text, "\n", { plain = true })
  vim.api.nvim_buf_set_text(buf, row, col, row, col + n_replaced, lines)
  vim.api.nvim_win_set_cursor(0, { row + #lines, (#lines == 1 and col or 0) + #lines[#lines] })
end

--- Tells the server that all of an item was taken over, if it wants to know.
---@param client_id integer
---@param command lsp.Command?
function M.tell(client_id, command)
  local client = vim.lsp.get_client_by_id(client_id)
  if client and command then
    client:exec_cmd(command, { bufnr = vim.api.nvim_get_current_buf() }, function() end)
  end
end

--- Whether a completion menu is open, Neovim's or a plugin's: it has the keys and the room.
function M.menu_open()
  local cmp, blink = package.loaded["cmp"], package.loaded["blink.cmp"]
  return vim.fn.pumvisible() == 1
    or (cmp ~= nil and cmp.visible ~= nil and cmp.visible())
    or (blink ~= nil and blink.is_menu_visible ~= nil and blink.is_menu_visible())
end

return M
