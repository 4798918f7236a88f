// Drives a running code-server with a browser, and writes what it sees to standard output, a JSON object a line.
// Usage: node drive.mjs FOLDER PORT PROJECT OUT, FOLDER being setup.sh's; the pictures go to OUT.
import { readFileSync, mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [folder, port, project, out] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/driver/`)("playwright-core");
const GHOST = "[class*=ghost-text]";
const TIMEOUT_MS = 60_000;

const tell = (name, facts) => console.log(JSON.stringify({ name, ...facts }));

const context = await chromium.launchPersistentContext(mkdtempSync(join(tmpdir(), "chromium-")), {
  executablePath: "/usr/bin/chromium",
  headless: true,
  viewport: { width: 900, height: 420 },
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
});
const page = context.pages()[0] ?? (await context.newPage());
const keys = page.keyboard;

async function palette(text) {
  await keys.press("F1");
  await page.waitForSelector(".quick-input-widget input");
  await keys.type(text);
  await page.waitForTimeout(700);
  await keys.press("Enter");
  await page.waitForTimeout(300);
}

/** Opens a file of the project with the cursor at a line and column, from 1. */
async function open(file, line, column) {
  await keys.press("Control+P");
  await page.waitForSelector(".quick-input-widget input");
  await keys.type(file);
  await page.waitForSelector(`.quick-input-list [aria-label^="${file}"]`); // Enter before that stays where it is
  await keys.press("Enter");
  await page.waitForSelector(`.tab.active[data-resource-name="${file}"]`);
  await keys.press("Control+G");
  await page.waitForSelector(".quick-input-widget input");
  await keys.type(`${line}:${column}`);
  await keys.press("Enter");
  await page.waitForTimeout(500);
}

async function ghost(timeout = TIMEOUT_MS) {
  await page.waitForSelector(GHOST, { timeout }).catch(() => undefined);
  return page.$$eval(GHOST, (found) => found.map((one) => one.textContent.replaceAll("\u00a0", " ")));
}

const status = () =>
  page.$$eval(".statusbar-item", (items) => items.find((one) => one.id.includes("midspan"))?.innerHTML ?? "");

async function until(word) {
  const end = Date.now() + TIMEOUT_MS;
  while (!(await status()).includes(word)) {
    if (Date.now() > end) {
      throw new Error(`the status never showed ${word}: ${await status()}`);
    }
    await page.waitForTimeout(100);
  }
}

/** Until the model is there: a server is ready for a moment before it tells that it loads. */
async function ready() {
  await until("sparkle");
  await page.waitForTimeout(2000);
  await until("sparkle");
}

async function saved(file) {
  await keys.press("Control+S");
  await page.waitForTimeout(500);
  return readFileSync(join(project, file), "utf8");
}

const first = JSON.stringify([["openFile", `vscode-remote://127.0.0.1:${port}${project}/plain.py`]]);
await page.goto(`http://127.0.0.1:${port}/?folder=${project}&payload=${encodeURIComponent(first)}`);
await page.waitForSelector(".monaco-editor .view-line", { timeout: TIMEOUT_MS });
await ready();

try {
  await page.click(".monaco-editor .view-lines");
  for (const file of ["plain.py", "emoji.py", "crlf.py"]) {
    await open(file, file === "emoji.py" ? 3 : 2, 20);
    await keys.press("End");
    await keys.type("+ ", { delay: 150 });
    const shown = await ghost();
    await page.screenshot({ path: join(out, file.replace(".py", ".png")) });
    await keys.press("Tab");
    tell(file, { ghost: shown, text: await saved(file) });
  }

  await open("several.py", 4, 1);
  await keys.press("End");
  await palette("Midspan: Complete Here");
  const several = await ghost();
  await page.screenshot({ path: join(out, "several.png") });
  await keys.press("Tab");
  tell("several.py", { ghost: several, text: await saved("several.py") });

  await open("through.py", 2, 20);
  await keys.press("End");
  await keys.type("+ ", { delay: 150 });
  const [whole] = await ghost();
  await keys.type(whole[0]);
  await page.waitForTimeout(100);
  const [rest] = await ghost();
  tell("through.py", { ghost: [whole, rest], text: await saved("through.py") });

  await palette("Midspan: Ghost Text On or Off for This Language");
  await until("circle-slash");
  await open("off.py", 2, 20);
  await keys.press("End");
  await keys.type("+ ", { delay: 150 });
  tell("off.py", { ghost: await ghost(5000) });
  await palette("Midspan: Ghost Text On or Off for This Language");
  await until("sparkle");

  process.kill(Number(readFileSync(join(folder, "server.pid"), "utf8")), "SIGKILL");
  await until("loading");
  await ready();
  await open("killed.py", 2, 20);
  await keys.press("End");
  await keys.type("+ ", { delay: 150 });
  const again = await ghost();
  await keys.press("Tab");
  tell("killed.py", { ghost: again, text: await saved("killed.py") });
} catch (error) {
  await page.screenshot({ path: join(out, "failure.png") });
  tell("failure", { error: String(error) });
} finally {
  await context.close();
}
