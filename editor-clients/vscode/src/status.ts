// The status-bar item.
import * as vscode from "vscode";
import { isEnabled, isEnabledFor } from "./settings";

export type State =
  | { kind: "stopped" | "ready" }
  | { kind: "loading"; message: string }
  | { kind: "error"; message: string };

function offBecause(language: string): string {
  return `Off${isEnabled() ? ` for ${language}` : ""}; a click switches it on`;
}

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("midspan", vscode.StatusBarAlignment.Right, 100);
  private readonly listener = vscode.window.onDidChangeActiveTextEditor(() => this.show());
  private state: State = { kind: "stopped" };

  constructor(private readonly languages: readonly string[]) {
    this.item.name = "Midspan";
  }

  set(state: State): void {
    this.state = state;
    this.show();
  }

  /** Shows the state in the language of the active editor; nothing in languages that are not served. */
  show(): void {
    const language = vscode.window.activeTextEditor?.document.languageId;
    if (language === undefined || !this.languages.includes(language)) {
      this.item.hide();
      return;
    }
    const off = !isEnabledFor(language);
    this.item.command = this.state.kind === "error" ? "midspan.showLog" : "midspan.toggleLanguage";
    if (this.state.kind === "loading") {
      this.item.text = "$(loading~spin) Midspan";
      this.item.tooltip = this.state.message;
    } else if (this.state.kind === "error") {
      this.item.text = "$(error) Midspan";
      this.item.tooltip = `${this.state.message}\nA click shows the log.`;
    } else if (this.state.kind === "stopped") {
      this.item.text = "$(debug-disconnect) Midspan";
      this.item.tooltip = "The server does not run; a click starts it";
      this.item.command = "midspan.restart";
    } else {
      if (!isEnabled()) {
        this.item.command = "midspan.toggle";
      }
      this.item.text = off ? "$(circle-slash) Midspan" : "$(sparkle) Midspan";
      this.item.tooltip = off ? offBecause(language) : `Ready; a click switches it off for ${language}`;
    }
    this.item.show();
  }

  dispose(): void {
    this.listener.dispose();
    this.item.dispose();
  }
}
