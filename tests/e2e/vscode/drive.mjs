// Plays scenes in a running code-server, and writes what is seen to standard output, a JSON object for each.
// Usage: node drive.mjs JSON, an object of:
//   tools: setup.sh's folder           port: code-server's      project: the open folder
//   pictures: where screenshots go     pid: a file with the server's process id
//   command: a file with the command that starts a server      scripted: one that answers what is known
//   settings: the machine's settings file
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Window } from "./window.mjs";

const given = JSON.parse(process.argv[2]);
const tell = (name, facts) => console.log(JSON.stringify({ name, ...facts }));
const window = await Window.open(given.tools, given.port, given.project, "plain.py");
const picture = (name) => window.picture(join(given.pictures, `${name}.png`));

/** Types "+ " at the end of a line, accepts what is shown, and saves. */
async function accept(file, line) {
  await window.show(file, line);
  await window.type("+ ");
  const ghost = await window.ghost();
  await picture(file.replace(".py", ""));
  await window.accept();
  tell(file, { ghost, text: await window.saved(file) });
}

async function severalLines() {
  await window.show("several.py", 4);
  await window.command("Midspan: Complete Here");
  const ghost = await window.ghost();
  await picture("several");
  await window.accept();
  tell("several.py", { ghost, text: await window.saved("several.py") });
}

async function typingThrough() {
  await window.show("through.py", 2);
  await window.type("+ ");
  const [whole] = await window.ghost();
  await window.keys.type(whole[0]);
  await window.page.waitForTimeout(100);
  const [rest] = await window.ghost();
  tell("through.py", { ghost: [whole, rest], text: await window.saved("through.py") });
}

async function acceptingAWord() {
  await window.show("word.py", 2);
  await window.type("return ");
  const ghost = await window.ghost();
  await window.accept("Control+ArrowRight");
  tell("word.py", { ghost, text: await window.saved("word.py") });
}

/** Goes through the candidates by keys, and back; then to the second by the palette, which begins anew, and accepts it. */
async function cycling(file, typed, most) {
  await window.show(file, 2);
  await window.type(typed);
  await window.ghost();
  await window.command("Midspan: Complete Here");
  const there = [await window.ghost()];
  for (let n = 1; n < most; n++) {
    await window.keys.press("Alt+]");
    const next = await window.otherGhost(there.at(-1));
    if (there.some((one) => one.join("") === next.join(""))) {
      break; // there is but one, or it is the first again
    }
    there.push(next);
    await picture(`${file.replace(".py", "")}-${n + 1}`);
  }
  const back = [];
  for (let n = 1; n <= there.length; n++) {
    await window.keys.press("Alt+[");
    back.push(await window.otherGhost(back.at(-1) ?? there[0]));
  }
  await window.command("Midspan: Next Candidate");
  const second = await window.otherGhost(there.length > 1 ? there[0] : []);
  await window.accept();
  tell(file, { there, back, second, text: await window.saved(file) });
}

async function switchedOff(title, file, words) {
  await window.show(file, 2);
  await window.command(title);
  await window.until("circle-slash", words);
  await window.type("+ ");
  tell(file, { ghost: await window.ghost(4000) });
  await window.command(title);
  await window.until("sparkle");
}

async function killed() {
  process.kill(Number(readFileSync(given.pid, "utf8")), "SIGKILL");
  await window.until("loading");
  await window.ready();
  await accept("killed.py", 2);
}

async function anotherServer() {
  await window.show("many.py", 2); // the status is told beside a file of a language that is served
  writeFileSync(given.command, given.scripted);
  await window.command("Midspan: Restart the Server");
  await window.until("loading");
  await window.ready();
  await cycling("many.py", "+ ", 5);
}

/** The machine's settings are written as by hand; the extension restarts its server by itself. */
async function broken() {
  const settings = JSON.parse(readFileSync(given.settings, "utf8"));
  writeFileSync(given.settings, JSON.stringify({ ...settings, "midspan.model.path": "fail" }));
  tell("no weights", { status: await window.until("error", "midspan fetch") });
  await picture("error");
  writeFileSync(given.settings, JSON.stringify({ ...settings, "midspan.server.path": "/nowhere/midspan" }));
  tell("no program", { status: await window.until("error", "/nowhere/midspan") });
  writeFileSync(given.settings, JSON.stringify(settings));
  await window.ready();
}

async function walkthrough() {
  await window.command("Welcome: Open Walkthrough...", "Start with Midspan");
  await window.page.waitForSelector(".getting-started-step", { timeout: 10_000 });
  await window.page.waitForTimeout(1000);
  await picture("walkthrough");
  const steps = await window.page.$$eval(".getting-started-step .step-title", (all) => all.map((one) => one.textContent));
  tell("walkthrough", { steps });
}

async function log() {
  await window.command("Midspan: Show the Log");
  await window.page.waitForSelector(".output-view .view-line");
  const [title] = await window.page.$$eval(".panel .monaco-select-box", (all) => all.map((one) => one.title || one.value));
  tell("log", { title });
}

/** The folder's own program counts once the folder is trusted, not before. */
async function trust() {
  await window.command("Workspaces: Manage Workspace Trust");
  await window.page.click(".workspace-trust-editor .monaco-button >> nth=0");
  await window.page.waitForTimeout(3000);
  await window.show("killed.py", 2);
  await window.ready();
  await window.command("Midspan: Doctor");
  await window.page.waitForTimeout(3000);
  tell("trusted", {});
}

try {
  await window.ready();
  await window.page.click(".monaco-editor .view-lines");
  await accept("plain.py", 2);
  await accept("emoji.py", 3);
  await accept("crlf.py", 2);
  await severalLines();
  await typingThrough();
  await acceptingAWord();
  await cycling("candidates.py", "return ", 5);
  await switchedOff("Midspan: Ghost Text On or Off for This Language", "off.py", "python");
  await switchedOff("Midspan: Ghost Text On or Off", "off_everywhere.py", "Off");
  await killed();
  await walkthrough();
  await anotherServer();
  await log();
  await broken();
  tell("untrusted", { calls: readFileSync(`${given.command}.calls`, "utf8") });
  await trust();
} catch (error) {
  await picture("failure");
  tell("failure", { error: String(error.stack) });
} finally {
  await window.context.close();
}
