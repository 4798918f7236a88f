-- Midspan in Neovim: starts the server, shows its middles as ghost text. See |midspan|.
local server = require("midspan.server")

local M = {}

M.defaults = {
  cmd = nil, ---@type string[]? the server's command; nil: `midspan serve`
  filetypes = nil, ---@type string[]? nil: those of lsp/midspan.lua
  settings = {}, -- the server's, as in its README
  off = {}, ---@type string[] filetypes that are switched off at first
  builtin = true, -- Neovim's own ghost text where it has one (0.12); false: this plugin's
  debounce_ms = 60, -- from a key to the request; Neovim's own has its own
  maps = { -- insert mode; false: no map, or no maps at all
    accept = "<Tab>",
    accept_word = "<M-w>",
    accept_line = "<M-l>",
    next = "<M-]>",
    previous = "<M-[>",
    dismiss = "<C-]>",
    trigger = "<M-Bslash>",
  },
}

local on, off = true, {} ---@type boolean, table<string, true>
local ui ---@type table midspan.ghost or midspan.builtin

M.actions = {
  accept = function() return ui.accept("all") end,
  accept_word = function() return ui.accept("word") end,
  accept_line = function() return ui.accept("line") end,
  next = function() return ui.cycle(1) end,
  previous = function() return ui.cycle(-1) end,
  dismiss = function() return ui.dismiss() end,
  trigger = function()
    vim.schedule(ui.trigger)
    return true
  end,
}

--- Whether there is ghost text in a buffer: it is not switched off, nor its filetype.
function M.enabled(buf)
  return on and not off[vim.bo[buf or 0].filetype]
end

local function apply(buf)
  if M.enabled(buf) then
    ui.attach(buf)
  else
    ui.detach(buf)
  end
end

local function apply_all()
  for _, client in ipairs(vim.lsp.get_clients({ name = "midspan" })) do
    vim.tbl_map(apply, vim.tbl_keys(client.attached_buffers))
  end
  vim.cmd.redrawstatus({ bang = true })
end

--- Switches ghost text on or off everywhere.
function M.toggle()
  on = not on
  apply_all()
end

--- Switches ghost text on or off in a filetype; the current buffer's, if none is given.
function M.toggle_filetype(filetype)
  filetype = filetype or vim.bo.filetype
  off[filetype] = not off[filetype] or nil
  server.set_disabled(vim.tbl_keys(off))
  apply_all()
end

--- For the status line: "Midspan" if ready, else with what is the matter; empty where there is no server.
function M.status()
  local state = server.state_of(vim.api.nvim_get_current_buf())
  if not state then
    return ""
  elseif state ~= "ready" then
    return "Midspan: " .. state
  end
  return M.enabled(0) and "Midspan" or "Midspan: off"
end

local COMMANDS = {
  toggle = M.toggle,
  toggle_filetype = function() M.toggle_filetype() end,
  restart = server.restart,
  log = function() vim.cmd.tabedit(vim.fn.fnameescape(vim.lsp.get_log_path())) end,
  doctor = function() vim.cmd.terminal(vim.fn.shellescape(server.program()) .. " doctor") end,
  status = function() vim.notify(M.status() == "" and "Midspan: no server here" or M.status()) end,
}

local function map(name, key)
  if key then
    vim.keymap.set("i", key, function()
      return M.actions[name]() and "" or key
    end, { expr = true, desc = "Midspan: " .. name:gsub("_", " ") })
  end
end

--- Starts Midspan. Options: |midspan-options|.
function M.setup(options)
  if vim.fn.has("nvim-0.11") == 0 then
    vim.notify("Midspan needs Neovim 0.11 or newer", vim.log.levels.ERROR)
    return
  end
  local given = options or {}
  local chosen = vim.tbl_deep_extend("force", M.defaults, given)
  local disabled = vim.tbl_get(chosen.settings, "languages", "disabled") or {}
  for _, filetype in ipairs(vim.list_extend({ unpack(disabled) }, chosen.off)) do
    off[filetype] = true
  end
  ui = require(chosen.builtin and vim.lsp.inline_completion and "midspan.builtin" or "midspan.ghost")
  ui.debounce_ms = chosen.debounce_ms
  vim.api.nvim_set_hl(0, "MidspanGhost", { link = "NonText", default = true })
  vim.api.nvim_create_autocmd("LspAttach", {
    group = vim.api.nvim_create_augroup("midspan", { clear = true }),
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      if client and client.name == "midspan" then
        apply(event.buf)
      end
    end,
  })
  for name, key in pairs(given.maps == false and {} or chosen.maps) do
    map(name, key)
  end
  vim.api.nvim_create_user_command("Midspan", function(command)
    local run = COMMANDS[command.args]
    if not run then
      return vim.notify("Midspan: no such command: " .. command.args, vim.log.levels.ERROR)
    end
    run()
  end, {
    nargs = 1,
    complete = function() return vim.tbl_keys(COMMANDS) end,
  })
  server.start(chosen, vim.tbl_keys(off))
end

return M
