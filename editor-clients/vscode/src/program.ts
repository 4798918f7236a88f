// Where the server's program is, and how one comes to be.
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, rm } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import * as vscode from "vscode";

const WINDOWS = process.platform === "win32";
const NAMES = WINDOWS ? ["midspan.exe", "midspan.cmd"] : ["midspan"];

async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function onPath(names: readonly string[]): Promise<string | undefined> {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  for (const path of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    if (await isProgram(path)) {
      return path;
    }
  }
  return undefined;
}

function inEnvironment(folder: string, name: string): string {
  return join(folder, WINDOWS ? "Scripts" : "bin", WINDOWS ? `${name}.exe` : name);
}

function ownFolder(context: vscode.ExtensionContext): string {
  return vscode.Uri.joinPath(context.globalStorageUri, "server").fsPath;
}

/** The program: the setting's, the one on the PATH, or the one that was installed here; undefined if there is none. */
export async function findProgram(context: vscode.ExtensionContext): Promise<string | undefined> {
  const chosen = vscode.workspace.getConfiguration("midspan").get("server.path", "");
  if (chosen) {
    return chosen;
  }
  const own = inEnvironment(ownFolder(context), "midspan");
  return (await onPath(NAMES)) ?? ((await isProgram(own)) ? own : undefined);
}

async function run(command: string, args: string[], log: vscode.LogOutputChannel, cancel: vscode.CancellationToken) {
  log.info(`> ${[command, ...args].join(" ")}`);
  await new Promise<void>((resolve, reject) => {
    const child = spawn(command, args);
    const cancelled = cancel.onCancellationRequested(() => child.kill());
    child.stdout.on("data", (data: Buffer) => log.info(data.toString().trimEnd()));
    child.stderr.on("data", (data: Buffer) => log.info(data.toString().trimEnd()));
    child.on("error", reject);
    child.on("close", (code) => {
      cancelled.dispose();
      code === 0 ? resolve() : reject(new Error(`${command} ended with ${code ?? "a signal"}`));
    });
  });
}

/** Asks, and installs the server into a folder of the extension's own. True if it is there now. */
export async function install(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Promise<boolean> {
  const uv = await onPath(WINDOWS ? ["uv.exe"] : ["uv"]);
  const python = await onPath(WINDOWS ? ["python.exe"] : ["python3", "python"]);
  if (!uv && !python) {
    void vscode.window.showErrorMessage("Midspan: neither uv nor Python 3.11 or newer is on the PATH.");
    return false;
  }
  const folder = ownFolder(context);
  const requirement = await vscode.window.showInputBox({
    title: `Install Midspan's server with ${uv ? "uv" : "pip"} into ${folder}`,
    prompt: "About 1.1 GB. What to install: your checkout's folder with [local] behind it, or what pip or uv can find.",
    placeHolder: "/path/to/midspan[local]",
    ignoreFocusOut: true,
  });
  if (!requirement) {
    return false;
  }
  const options = { location: vscode.ProgressLocation.Notification, title: "Installing Midspan", cancellable: true };
  return vscode.window.withProgress(options, async (_progress, cancel) => {
    try {
      await rm(folder, { recursive: true, force: true });
      if (uv) {
        await run(uv, ["venv", "--python", ">=3.11", folder], log, cancel);
        const interpreter = inEnvironment(folder, "python");
        await run(uv, ["pip", "install", "--python", interpreter, requirement], log, cancel);
      } else if (python) {
        await run(python, ["-m", "venv", folder], log, cancel);
        await run(inEnvironment(folder, "python"), ["-m", "pip", "install", requirement], log, cancel);
      }
      return true;
    } catch (error) {
      log.error(error instanceof Error ? error : String(error));
      void vscode.window.showErrorMessage(`Midspan could not be installed: ${String(error)}. The log says why.`);
      log.show();
      return false;
    }
  });
}
