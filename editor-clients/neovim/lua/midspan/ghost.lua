-- Ghost text for Neovim 0.11, which has no inline completion of its own: asks, shows, and accepts.
local suggestion = require("midspan.suggestion")

local METHOD = "textDocument/inlineCompletion"
local INVOKED, AUTOMATIC = 1, 2

local M = { debounce_ms = 60 }
local namespace = vim.api.nvim_create_namespace("midspan")
local timer = vim.uv.new_timer()
local pending = nil ---@type { client: vim.lsp.Client, id: integer }?
local shown = nil ---@type { buf: integer, client_id: integer, suggestions: midspan.Suggestion[], index: integer }?

local function cursor()
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  return row - 1, col
end

local function inserting()
  return vim.api.nvim_get_mode().mode:sub(1, 1) == "i"
end

local function erase()
  if shown and vim.api.nvim_buf_is_valid(shown.buf) then
    vim.api.nvim_buf_clear_namespace(shown.buf, namespace, 0, -1)
  end
end

local function clear()
  erase()
  shown = nil
end

local function cancel()
  timer:stop()
  if pending then
    pending.client:cancel_request(pending.id)
    pending = nil
  end
end

--- What is left of the suggestion shown, at the cursor; nil if none is.
local function rest()
  if not shown or shown.buf ~= vim.api.nvim_get_current_buf() then
    return nil
  end
  return suggestion.rest(shown.suggestions[shown.index], shown.buf, cursor())
end

--- Shows what is left at the cursor; nothing, and forgets the suggestion, where that is nothing.
local function draw()
  erase()
  local text = rest()
  if not text or suggestion.menu_open() then
    shown = nil
    return
  end
  local lines = vim.split(text, "\n", { plain = true })
  local below = {}
  for number = 2, #lines do
    below[#below + 1] = { { lines[number], "MidspanGhost" } }
  end
  local row, col = cursor()
  vim.api.nvim_buf_set_extmark(shown.buf, namespace, row, col, {
    virt_text = { { lines[1], "MidspanGhost" } },
    virt_text_pos = shown.suggestions[shown.index].n_replaced > 0 and "overlay" or "inline",
    virt_lines = #below > 0 and below or nil,
    hl_mode = "combine",
  })
end

local function request(buf, kind)
  local client = vim.lsp.get_clients({ name = "midspan", bufnr = buf, method = METHOD })[1]
  if not client or buf ~= vim.api.nvim_get_current_buf() or not inserting() or suggestion.menu_open() then
    return
  end
  local row, col = cursor()
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.context = { triggerKind = kind }
  local asked = { client = client }
  local sent, id = client:request(METHOD, params, function(_, answer)
    if pending ~= asked then -- overtaken
      return
    end
    pending = nil
    local here_row, here_col = cursor()
    local same = buf == vim.api.nvim_get_current_buf()
      and tick == vim.api.nvim_buf_get_changedtick(buf)
      and row == here_row
      and col == here_col
    if not same or not inserting() then
      return
    end
    clear()
    local line = vim.api.nvim_get_current_line()
    local found = {}
    for _, item in ipairs(answer and (answer.items or answer) or {}) do
      found[#found + 1] = suggestion.of_item(item, row, col, line, client.offset_encoding)
    end
    if #found > 0 then
      shown = { buf = buf, client_id = client.id, suggestions = found, index = 1 }
      draw()
    end
  end, buf)
  if sent then
    asked.id = id
    pending = asked
  end
end

--- Keeps what is shown in step with what is typed, and asks for the next.
local function follow(buf)
  cancel()
  draw()
  timer:start(M.debounce_ms, 0, vim.schedule_wrap(function()
    request(buf, AUTOMATIC)
  end))
end

local function group_of(buf)
  return vim.api.nvim_create_augroup("midspan.ghost." .. buf, { clear = true })
end

function M.attach(buf)
  local group = group_of(buf)
  local events = { "InsertEnter", "TextChangedI", "TextChangedP", "CursorMovedI", "CompleteDone" }
  vim.api.nvim_create_autocmd(events, {
    group = group,
    buffer = buf,
    callback = function()
      follow(buf)
    end,
  })
  vim.api.nvim_create_autocmd({ "InsertLeave", "BufLeave" }, { group = group, buffer = buf, callback = M.dismiss })
end

function M.detach(buf)
  group_of(buf)
  if buf == vim.api.nvim_get_current_buf() then
    M.dismiss()
  end
end

--- Asks at once, as by hand.
function M.trigger()
  cancel()
  request(vim.api.nvim_get_current_buf(), INVOKED)
end

--- Takes over what is shown, or its next word or line. False if nothing is shown. May be called from an <expr> map.
---@param part "all"|"word"|"line"
function M.accept(part)
  if not rest() or suggestion.menu_open() then
    return false
  end
  vim.schedule(function()
    local text = rest()
    if not shown or not text then
      return
    end
    local taken = suggestion.part_of(text, part)
    local current = shown.suggestions[shown.index]
    local row, col = cursor()
    suggestion.insert(shown.buf, row, col, taken == text and current.n_replaced or 0, taken)
    if taken == text then
      suggestion.tell(shown.client_id, current.command)
    end
    follow(shown.buf)
  end)
  return true
end

--- Shows another suggestion. False if nothing is shown.
function M.cycle(step)
  if not rest() then
    return false
  end
  shown.index = (shown.index - 1 + step) % #shown.suggestions + 1
  draw()
  return true
end

--- Takes away what is shown. False if nothing was.
function M.dismiss()
  local was_shown = rest() ~= nil
  cancel()
  clear()
  return was_shown
end

return M
