// Midspan in VS Code: the commands, and one server for the window.
import * as vscode from "vscode";
import { findProgram, install } from "./program";
import { Session } from "./session";
import { concernsServer, toggle, toggleLanguage } from "./settings";
import { StatusItem } from "./status";

const ON_LANGUAGE = "onLanguage:";

let session: Session | undefined;

/** The languages that are served: those that wake the extension. */
function servedLanguages(context: vscode.ExtensionContext): string[] {
  const { activationEvents } = context.extension.packageJSON as { activationEvents: string[] };
  return activationEvents.filter((one) => one.startsWith(ON_LANGUAGE)).map((one) => one.slice(ON_LANGUAGE.length));
}

/** Another candidate; the palette has taken away what was shown, so it is asked for first. */
async function showOther(which: "Next" | "Previous"): Promise<void> {
  await vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
  await vscode.commands.executeCommand(`editor.action.inlineSuggest.show${which}`);
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("Midspan", { log: true });
  const languages = servedLanguages(context);
  const status = new StatusItem(languages);
  const current = new Session(languages, log, status);
  session = current;

  const restart = async (): Promise<void> => {
    await current.stop();
    const program = await findProgram(context);
    if (program === undefined) {
      status.set({ kind: "error", message: "The program midspan is not there: run “Midspan: Install the Server”" });
      void offerToInstall();
    } else {
      await current.start(program);
    }
  };
  // one after the other: a setting may change while a server still stops
  let restarts = Promise.resolve();
  const restartInTurn = (): Promise<void> => (restarts = restarts.then(restart, restart));
  const installAndStart = async (): Promise<void> => {
    await current.stop(); // its files are about to be replaced
    if (await install(context, log)) {
      await restartInTurn();
    }
  };
  const offerToInstall = async (): Promise<void> => {
    const question = "Midspan's server is not on the PATH, and midspan.server.path is empty.";
    if ((await vscode.window.showWarningMessage(question, "Install…")) !== undefined) {
      await installAndStart();
    }
  };
  const doctor = async (): Promise<void> => {
    const shellPath = await findProgram(context);
    if (shellPath === undefined) {
      await offerToInstall();
    } else {
      vscode.window.createTerminal({ name: "Midspan doctor", shellPath, shellArgs: ["doctor"] }).show();
    }
  };

  const commands: Record<string, () => unknown> = {
    toggle,
    toggleLanguage: () => {
      const language = vscode.window.activeTextEditor?.document.languageId;
      return language === undefined ? undefined : toggleLanguage(language);
    },
    trigger: () => vscode.commands.executeCommand("editor.action.inlineSuggest.trigger"),
    next: () => showOther("Next"),
    previous: () => showOther("Previous"),
    restart: restartInTurn,
    showLog: () => log.show(true),
    doctor,
    install: installAndStart,
  };
  context.subscriptions.push(
    log,
    status,
    ...Object.entries(commands).map(([name, command]) => vscode.commands.registerCommand(`midspan.${name}`, command)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (concernsServer(event)) {
        void restartInTurn();
      } else if (event.affectsConfiguration("midspan")) {
        status.show();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void restartInTurn()),
  );
  void restartInTurn();
}

export async function deactivate(): Promise<void> {
  await session?.stop();
}
