// A VS Code window in a headless browser, in the words of the scenes.
import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const GHOST = "[class*=ghost-text]";
const INPUT = ".quick-input-widget input";
const TIMEOUT_MS = 60_000;
const LOADING_TIMEOUT_MS = 180_000;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];

export class Window {
  /** Opens a folder, with one of its files, in the code-server at a port; `tools` is setup.sh's folder. */
  static async open(tools, port, project, file) {
    const { chromium } = createRequire(`${tools}/driver/`)("playwright-core");
    const context = await chromium.launchPersistentContext(mkdtempSync(join(tmpdir(), "chromium-")), {
      executablePath: "/usr/bin/chromium",
      headless: true,
      viewport: { width: 900, height: 420 },
      args: FLAGS,
    });
    const page = context.pages()[0] ?? (await context.newPage());
    const first = JSON.stringify([["openFile", `vscode-remote://127.0.0.1:${port}${project}/${file}`]]);
    await page.goto(`http://127.0.0.1:${port}/?folder=${project}&payload=${encodeURIComponent(first)}`);
    await page.waitForSelector(".monaco-editor .view-line", { timeout: TIMEOUT_MS });
    return new Window(context, page, project);
  }

  constructor(context, page, project) {
    this.context = context;
    this.page = page;
    this.project = project;
    this.keys = page.keyboard;
  }

  /** Opens a box by a key, types into it, and chooses an item of this text. */
  async choose(key, text, item) {
    await this.keys.press(key);
    await this.page.waitForSelector(INPUT);
    await this.pick(text, item);
  }

  /** Types into the box that is open, and presses Enter until the item is gone: on a busy machine it may come too early. */
  async pick(text, item) {
    await this.keys.type(text);
    const found = `.quick-input-list .monaco-list-row.focused:has-text("${item}")`;
    await this.page.waitForSelector(found);
    for (let n = 0; n < 5; n++) {
      await this.page.waitForTimeout(300);
      await this.keys.press("Enter");
      const gone = this.page.waitForSelector(found, { state: "hidden", timeout: 2000 });
      if (await gone.then(() => true, () => false)) {
        return;
      }
    }
    throw new Error(`${item} could not be chosen`);
  }

  /** Runs a command of the palette, and chooses what it asks for, if it does. */
  async command(title, item) {
    await this.choose("F1", title, title);
    await this.page.waitForTimeout(300);
    if (item !== undefined) {
      await this.pick(item, item);
    }
  }

  /** Shows a file of the project with the cursor at the end of a line, from 1. */
  async show(file, line) {
    await this.choose("Control+P", file, file);
    await this.page.waitForSelector(`.tab.active[data-resource-name="${file}"]`);
    await this.choose("Control+G", `${line}`, "to go to line");
    await this.page.waitForTimeout(500);
    await this.keys.press("End");
  }

  async type(text) {
    await this.keys.type(text, { delay: 150 });
  }

  /** The pieces of what is shown and stays; none if nothing is within the time. */
  async ghost(timeout = TIMEOUT_MS) {
    const end = Date.now() + timeout;
    let before;
    let now = await this.pieces(timeout);
    while (before?.join("") !== now.join("") && Date.now() < end) {
      await this.page.waitForTimeout(500);
      before = now;
      now = await this.pieces(timeout);
    }
    return now;
  }

  async pieces(timeout) {
    await this.page.waitForSelector(GHOST, { timeout }).catch(() => undefined);
    return this.page.$$eval(GHOST, (found) => found.map((one) => one.textContent.replaceAll("\u00a0", " ")));
  }

  /** Waits until other ghost text is shown than this; what is shown then, or still. */
  async otherGhost(than, timeout = 3000) {
    const end = Date.now() + timeout;
    let now = await this.pieces(timeout);
    while ((now.length === 0 || now.join("") === than.join("")) && Date.now() < end) {
      await this.page.waitForTimeout(50);
      now = await this.pieces(timeout);
    }
    return now;
  }

  /** The status-bar item: its icon's name and what it tells. */
  async status() {
    const item = await this.page.$(".statusbar-item[id*=midspan]");
    const label = item === null ? null : await item.$("[aria-label]");
    return item === null ? "" : `${await item.innerHTML()} ${await label?.getAttribute("aria-label")}`;
  }

  async until(...words) {
    const end = Date.now() + LOADING_TIMEOUT_MS;
    while (!words.every((word) => this.last?.includes(word))) {
      if (Date.now() > end) {
        throw new Error(`the status never showed ${words}: ${this.last}`);
      }
      await this.page.waitForTimeout(100);
      this.last = await this.status();
    }
    return this.last;
  }

  /** Until the model is there: a server is ready for a moment before it tells that it loads. */
  async ready() {
    this.last = "";
    await this.until("sparkle");
    await this.page.waitForTimeout(2000);
    this.last = "";
    await this.until("sparkle");
  }

  /** Accepts by a key, and waits until what was shown has become text. */
  async accept(key = "Tab") {
    const [shown] = await this.pieces(100);
    await this.keys.press(key);
    const changed = `![...document.querySelectorAll("${GHOST}")].some((one) => one.textContent === ${JSON.stringify(shown)})`;
    await this.page.waitForFunction(changed, undefined, { timeout: 5000 }).catch(() => undefined);
  }

  async saved(file) {
    await this.page.waitForTimeout(300);
    await this.keys.press("Control+S");
    await this.page.waitForSelector(`.tab.active:not(.dirty)[data-resource-name="${file}"]`);
    await this.page.waitForTimeout(200);
    return readFileSync(join(this.project, file), "utf8");
  }

  async picture(path) {
    await this.page.screenshot({ path });
  }
}
