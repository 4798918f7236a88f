// The user's settings: what the server is given, and where ghost text is switched off.
import * as vscode from "vscode";

const SERVER_GROUPS = ["completion", "context", "languages", "model", "backend", "memory", "stats"] as const;

/** The server's initializationOptions. */
export function serverSettings(): Record<string, unknown> {
  const settings = vscode.workspace.getConfiguration("midspan");
  return Object.fromEntries(SERVER_GROUPS.map((group) => [group, settings.get(group)]));
}

/** Whether a change needs another server: the rest it takes while it runs. */
export function concernsServer(event: vscode.ConfigurationChangeEvent): boolean {
  const keys = ["server", "backend", "model", "context", "completion.menu"];
  return keys.some((key) => event.affectsConfiguration(`midspan.${key}`));
}

export function isEnabled(): boolean {
  return vscode.workspace.getConfiguration("midspan").get("enable", true);
}

function disabledLanguages(): string[] {
  return vscode.workspace.getConfiguration("midspan").get<string[]>("languages.disabled", []);
}

/** Whether there is ghost text in a language: it is not switched off, here or everywhere. */
export function isEnabledFor(language: string): boolean {
  return isEnabled() && !disabledLanguages().includes(language);
}

export async function toggle(): Promise<void> {
  await vscode.workspace.getConfiguration("midspan").update("enable", !isEnabled(), vscode.ConfigurationTarget.Global);
}

export async function toggleLanguage(language: string): Promise<void> {
  const others = disabledLanguages().filter((one) => one !== language);
  const changed = others.length < disabledLanguages().length ? others : [...others, language];
  const settings = vscode.workspace.getConfiguration("midspan");
  await settings.update("languages.disabled", changed, vscode.ConfigurationTarget.Global);
}
