#!/usr/bin/env bash
# The README's steps in a new home folder, each timed: the server (with uv, if it is on the PATH, else with pip), then
# Zed's gateway, Neovim's plugin and VS Code's extension.
# Usage: install.sh FOLDER [NVIM [CODE]], from a checkout; NVIM and CODE are programs, CODE takes --install-extension.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
home=$(cd "$1" && pwd)
unset PYTHONPATH MIDSPAN_CACHE VIRTUAL_ENV
export HOME=$home XDG_CONFIG_HOME=$home/.config XDG_DATA_HOME=$home/.local/share XDG_CACHE_HOME=$home/.cache
port=$((20000 + RANDOM % 20000))
step() {
  local began_s=$SECONDS
  "${@:2}" >"$home/log" 2>&1 || { tail -20 "$home/log"; exit 1; }
  echo "$((SECONDS - began_s)) s  $1"
}
install() {
  if command -v uv >/dev/null; then
    uv tool install --force "$checkout[$1]"
  else
    [ -d "$home/midspan" ] || python3 -m venv "$home/midspan"
    "$home/midspan/bin/python" -m pip install --log "$home/pip.log" "$checkout[$1]"
  fi
}
zed() {
  install local,gateway
  midspan gateway --listen "127.0.0.1:$port" &
  local gateway=$! request='{"model": "midspan", "prompt": "<|fim_prefix|>def add(a, b):\n    return a <|fim_suffix|>\n<|fim_middle|>"}'
  for _ in $(seq 120); do # Zed asks again at each key, too
    curl -s "http://127.0.0.1:$port/v1/completions" -H 'Content-Type: application/json' -d "$request" >"$home/answer" || true
    grep -q '"text": *"[^"]' "$home/answer" && break
    sleep 0.5
  done
  kill "$gateway"
  grep '"text": *"[^"]' "$home/answer"
}
neovim() {
  mkdir -p "$XDG_DATA_HOME/nvim/site/pack/midspan/start" "$XDG_CONFIG_HOME/nvim"
  cp -r "$checkout/editor-clients/neovim" "$XDG_DATA_HOME/nvim/site/pack/midspan/start/midspan"
  "$1" --headless -c 'helptags ALL' -c q
  echo 'require("midspan").setup()' >"$XDG_CONFIG_HOME/nvim/init.lua"
  echo 'x = 1' >"$home/x.py"
  "$1" --headless "$home/x.py" -c 'lua assert(vim.wait(60000, function() return #vim.lsp.get_clients() == 1 end))' \
    -c 'checkhealth midspan' -c 'silent write! ~/health' -c 'qa!'
  grep -q 'completion: *works' "$home/health" && ! grep -q ERROR "$home/health"
}
vscode() {
  cp -r "$checkout/editor-clients/vscode" "$home/vscode" && rm -rf "$home/vscode/node_modules" && cd "$home/vscode"
  npm ci && npm run package && "$1" --install-extension midspan.vsix
}
step "the server installed" install local
export PATH=$home/midspan/bin:$home/.local/bin:$PATH
step "midspan fetch" midspan fetch
step "midspan doctor" midspan doctor
[ $# -lt 2 ] || step "Neovim: the plugin copied, its server started, :checkhealth" neovim "$2"
[ $# -lt 3 ] || step "VS Code: the extension built and installed" vscode "$3"
step "Zed: the gateway installed, started, and asked as Zed asks" zed
