// Takes code actions in a running code-server, and writes what comes of each to standard output, a JSON object a line.
// Usage: node actions.mjs FOLDER PORT PROJECT OUT SCENES, FOLDER being setup.sh's; the pictures go to OUT. SCENES is a
// JSON list of: file, line (from 1), title of the action, and whether the whole line is selected.
import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [folder, port, project, out, scenes] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/driver/`)("playwright-core");
const INPUT = ".quick-input-widget input";
const MENU = ".action-widget .monaco-list-row";
const APPLY = ".bulk-edit-panel .monaco-button";
const TICK = ".bulk-edit-panel .edit-checkbox";
const PATIENCE_MS = 90_000;

const context = await chromium.launchPersistentContext(mkdtempSync(join(tmpdir(), "chromium-")), {
  executablePath: "/usr/bin/chromium",
  headless: true,
  viewport: { width: 1000, height: 640 },
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
});
const page = context.pages()[0] ?? (await context.newPage());
page.setDefaultTimeout(PATIENCE_MS);
const keys = page.keyboard;
const texts = (selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent.replaceAll("\u00a0", " ")));

async function show(file, line) {
  await keys.press("Control+P");
  await page.waitForSelector(INPUT);
  await keys.type(file);
  await page.waitForSelector(`.quick-input-list [aria-label^="${file}"]`);
  await keys.press("Enter");
  await page.waitForSelector(`.tab.active[data-resource-name="${file}"]`);
  const there = page.locator(`.statusbar-item:has-text("Ln ${line},")`);
  for (let n = 0; n < 10 && (await there.count()) === 0; n++) {
    // on a busy machine a file that was just opened takes the cursor back to its start
    await page.waitForTimeout(500);
    await keys.press("Control+G");
    await page.waitForSelector(INPUT);
    await keys.type(`${line}`);
    await page.waitForSelector(`.quick-input-list .monaco-list-row.focused:has-text("${line}")`);
    await keys.press("Enter");
    await page.waitForTimeout(500);
  }
}

/** Opens the menu until it has the action: the model may not be loaded yet. */
async function menuWith(title) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    await keys.press("Control+.");
    await page.waitForTimeout(1500);
    const found = await texts(MENU);
    if (found.some((one) => one.includes(title))) {
      return found;
    }
    await keys.press("Escape");
    await page.waitForTimeout(500);
  }
  throw new Error(`no action ${title} in ${JSON.stringify(await texts(MENU))}`);
}

async function play({ file, line, title, selected }) {
  await show(file, line);
  if (selected) {
    await keys.press("Home");
    await keys.press("Shift+End");
  }
  const offered = await menuWith(title);
  await page.screenshot({ path: join(out, `${file}-menu.png`) });
  await page.click(`${MENU}:has-text("${title}")`);
  await page.waitForSelector(APPLY);
  await page.click(TICK); // an edit that needs to be confirmed comes without its tick
  await page.screenshot({ path: join(out, `${file}-preview.png`) });
  const before = readFileSync(join(project, file), "utf8");
  await page.click(`${APPLY}:has-text("Apply")`);
  await page.waitForSelector(APPLY, { state: "hidden" });
  await show(file, line);
  await keys.press("Control+S");
  await page.waitForSelector(`.tab.active:not(.dirty)[data-resource-name="${file}"]`);
  await page.waitForTimeout(500);
  return { offered, before, text: readFileSync(join(project, file), "utf8") };
}

try {
  await page.goto(`http://127.0.0.1:${port}/?folder=${project}`);
  await page.waitForSelector(".monaco-workbench .part.editor");
  await page.waitForTimeout(3000);
  for (const scene of JSON.parse(scenes)) {
    console.log(JSON.stringify({ name: scene.file, ...(await play(scene)) }));
  }
} catch (error) {
  await page.screenshot({ path: join(out, "actions-error.png") });
  console.log(JSON.stringify({ error: `${error}` }));
}
await context.close();
