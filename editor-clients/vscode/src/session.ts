// The server's life: starting, restarting, stopping, and what it tells of itself.
import * as vscode from "vscode";
import {
  LanguageClient,
  MessageType,
  ShowMessageNotification,
  State as ClientState,
  type ShowMessageParams,
} from "vscode-languageclient/node";
import { isEnabledFor, serverSettings } from "./settings";
import type { StatusItem } from "./status";

export class Session {
  private client: LanguageClient | undefined;
  private failed = false;

  constructor(
    private readonly languages: readonly string[],
    private readonly log: vscode.LogOutputChannel,
    private readonly status: StatusItem,
  ) {}

  async start(program: string): Promise<void> {
    this.failed = false;
    const client = this.clientFor(program);
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.fail(`${program} could not be started: ${String(error)}`);
    }
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client?.needsStop()) {
      await client.dispose();
    }
    this.status.set({ kind: "stopped" });
  }

  private clientFor(program: string): LanguageClient {
    const documentSelector = this.languages.flatMap((language) => [
      { language, scheme: "file" },
      { language, scheme: "untitled" },
    ]);
    const client = new LanguageClient(
      "midspan",
      "Midspan",
      { command: program, args: ["serve"] },
      {
        documentSelector,
        initializationOptions: serverSettings,
        outputChannel: this.log,
        middleware: {
          provideInlineCompletionItems: (document, position, context, token, next) =>
            isEnabledFor(document.languageId) ? next(document, position, context, token) : undefined,
          handleWorkDoneProgress: (_token, params) => {
            if (params.kind === "end") {
              this.ready();
            } else {
              const percentage = params.percentage === undefined ? "" : `, ${params.percentage} %`;
              this.status.set({ kind: "loading", message: `${params.message ?? "loading"}${percentage}` });
            }
          },
        },
      },
    );
    client.onNotification(ShowMessageNotification.type, (params) => this.tell(params));
    client.onDidChangeState(({ newState }) => {
      if (client !== this.client) {
        return;
      }
      if (newState === ClientState.Running) {
        this.failed = false;
        this.ready(); // a model that loads tells so at once
      } else if (newState === ClientState.Starting) {
        this.status.set({ kind: "loading", message: "starting" });
      } else if (!this.failed) {
        this.status.set({ kind: "stopped" });
      }
    });
    return client;
  }

  private ready(): void {
    if (!this.failed) {
      this.status.set({ kind: "ready" });
    }
  }

  private fail(message: string): void {
    this.failed = true;
    this.status.set({ kind: "error", message });
  }

  private tell({ type, message }: ShowMessageParams): void {
    if (type === MessageType.Error) {
      this.fail(message);
      void vscode.window.showErrorMessage(message, "Show Log", "Doctor").then((choice) => {
        if (choice) {
          void vscode.commands.executeCommand(choice === "Doctor" ? "midspan.doctor" : "midspan.showLog");
        }
      });
    } else if (type === MessageType.Warning) {
      void vscode.window.showWarningMessage(message);
    } else {
      void vscode.window.showInformationMessage(message);
    }
  }
}
