// A folder that its user does not trust at first, and then does: `trust.mjs URL`. Prints a line when
// VS Code is ready in Restricted Mode, and another when the folder is trusted and Copydraft is there;
// between them it waits for a line of input. SHOTS is a folder for screenshots.
// CHROMIUM names the browser, PROFILE an empty directory.
import { once } from "node:events";

import { openPage } from "./browser.mjs";
import { run } from "./user.mjs";

const [url] = process.argv.slice(2);
const { SHOTS } = process.env;
const page = await openPage(1100, 720);
const say = async (name, seen) => {
  await page.screenshot({ path: `${SHOTS}/trust-${name}.png` });
  console.log(JSON.stringify(seen));
};
/** The titles of the commands that the palette has for a word. */
async function commands(word) {
  await page.keyboard.press("F1");
  await page.locator(".quick-input-box input").fill(`>${word}`);
  await page.locator(".quick-input-list .monaco-list-row").first().waitFor();
  const titles = await page.locator(".quick-input-list .monaco-list-row").allInnerTexts();
  await page.keyboard.press("Escape");
  return titles.filter((title) => title.includes(word));
}

try {
  await page.goto(url, { waitUntil: "commit", timeout: 0 });
  await page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
  await page.keyboard.press("Control+Shift+X");
  await page.locator(".monaco-list-row.disabled", { hasText: "Copydraft" }).waitFor();
  const activating = page.locator(".statusbar-item", { hasText: "Activating Extensions" });
  await activating.waitFor({ state: "detached" });
  await say("restricted", {
    commands: await commands("Copydraft: "),
    bar: await page.locator(".statusbar-item", { hasText: "Copydraft" }).count(),
    toasts: await page.locator(".notification-toast").allInnerTexts(),
  });

  process.stdin.resume();
  await once(process.stdin, "data");
  await run(page, "Workspaces: Manage Workspace Trust");
  await page.getByRole("button", { name: "Trust", exact: true }).first().click();
  await page.locator(".statusbar-item", { hasText: "Copydraft" }).waitFor();
  await say("trusted", { bar: 1 });
} catch (error) {
  await say("fault", { fault: String(error) });
}
await page.context().close();
process.exit();
