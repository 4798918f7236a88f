-- The server's process: starting, restarting, and what is known of its state.
local M = {}

local states = {} ---@type table<integer, string> by client: "loading 40 %", "ready", "error: …"
local stopped = nil ---@type string? what was the matter when the last one ended by itself
local restarting = false

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

local function on_exit(code, signal, client_id)
  states[client_id] = nil
  if restarting then
    restarting = false
    vim.schedule(function()
      vim.lsp.enable("midspan")
    end)
  elseif code ~= 0 or signal ~= 0 then -- Neovim gives notice of it, and of its log
    stopped = ("stopped (code %d, signal %d); :Midspan restart"):format(code, signal)
  end
end

--- Has the server started for the buffers that there are and will be.
function M.start(options)
  vim.lsp.config("midspan", {
    cmd = options.cmd,
    filetypes = options.filetypes,
    init_options = next(options.settings) and options.settings or nil,
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
  stopped = nil
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
