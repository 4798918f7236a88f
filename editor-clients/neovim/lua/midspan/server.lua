-- The server's process: starting, restarting, and what is known of its state.
local M = {}

local states = {} ---@type table<integer, string> by client: "loading 40 %", "ready", "error: …"
local stopped = nil ---@type string? what was the matter when the last one ended by itself
local restarting = false
local given = {} ---@type table the user's settings of the server
local crashes_ms = {} ---@type integer[] when servers ended by themselves, newest last

local MAX_CRASHES, CRASHES_WITHIN_MS = 3, 180000

local function tell(client_id, state)
  states[client_id] = state
  vim.schedule(function()
    vim.cmd.redrawstatus({ bang = true })
  end)
end

--- The program that `cmd` starts.
function M.program()
  local cmd = vim.lsp.config.midspan.cmd
  return type(cmd) == "table" and cmd[1] or "midspan"
end

--- The state of a buffer's server, or why there is none; nil if the buffer has no business with it.
---@return string?
function M.state_of(buf)
  local client = vim.lsp.get_clients({ name = "midspan", bufnr = buf })[1]
  if client then
    return states[client.id] or "ready" -- a model that loads tells so at once
  end
  return vim.list_contains(vim.lsp.config.midspan.filetypes or {}, vim.bo[buf].filetype) and stopped or nil
end

local function on_progress(event)
  local client = vim.lsp.get_client_by_id(event.data.client_id)
  local value = event.data.params.value
  if not client or client.name ~= "midspan" or vim.startswith(states[client.id] or "", "error") then
    return
  end
  if value.kind == "end" then
    tell(client.id, "ready")
  else
    tell(client.id, ("loading %d %%"):format(value.percentage or 0))
  end
end

--- An error of the server's is shown by Neovim, and kept for the status.
local function on_message(err, params, context)
  if params.type == vim.lsp.protocol.MessageType.Error then
    tell(context.client_id, "error: " .. params.message:gsub("^Midspan: ", ""):gsub("\n", "; "))
  end
  return vim.lsp.handlers["window/showMessage"](err, params, context)
end

local function enable_soon()
  vim.schedule(function()
    if vim.v.exiting == vim.NIL then
      vim.lsp.enable("midspan")
    end
  end)
end

--- A server that ended by itself is started again, unless that happens all the time.
local function on_exit(code, signal, client_id)
  states[client_id] = nil
  if restarting then
    restarting = false
    enable_soon()
  elseif code ~= 0 or signal ~= 0 then -- Neovim gives notice of it, and of its log
    table.insert(crashes_ms, vim.uv.now())
    local oldest = crashes_ms[#crashes_ms - MAX_CRASHES]
    local too_often = oldest ~= nil and vim.uv.now() - oldest < CRASHES_WITHIN_MS
    stopped = ("stopped (code %d, signal %d); "):format(code, signal)
      .. (too_often and ":Midspan restart" or "it starts again")
    if not too_often then
      enable_soon()
    end
  end
end

--- The server's settings: the user's, with the languages that are switched off.
local function settings_with(disabled)
  local settings = vim.deepcopy(given)
  return vim.tbl_deep_extend("force", settings, { languages = { disabled = disabled } })
end

--- Has running servers know which languages are switched off.
---@param disabled string[]
function M.set_disabled(disabled)
  for _, client in ipairs(vim.lsp.get_clients({ name = "midspan" })) do
    client.settings = { midspan = settings_with(disabled) }
    client:notify("workspace/didChangeConfiguration", { settings = client.settings })
  end
  vim.lsp.config("midspan", { settings = { midspan = settings_with(disabled) } })
end

--- Has the server started for the buffers that there are and will be.
---@param disabled string[] languages that are switched off
function M.start(options, disabled)
  given = options.settings
  local settings = settings_with(disabled)
  vim.lsp.config("midspan", {
    cmd = options.cmd,
    filetypes = options.filetypes,
    init_options = settings,
    settings = { midspan = settings },
    handlers = { ["window/showMessage"] = on_message },
    on_exit = on_exit,
  })
  vim.api.nvim_create_autocmd("LspProgress", {
    group = vim.api.nvim_create_augroup("midspan.server", { clear = true }),
    callback = on_progress,
  })
  vim.lsp.enable("midspan")
end

--- Ends the server, if one runs, and starts another.
function M.restart()
  stopped, crashes_ms = nil, {}
  local clients = vim.lsp.get_clients({ name = "midspan" })
  restarting = #clients > 0
  for _, client in ipairs(clients) do
    client:stop()
  end
  if not restarting then
    vim.lsp.enable("midspan")
  end
end

return M
