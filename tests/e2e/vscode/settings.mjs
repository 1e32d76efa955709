// A user changes the theme, restarts the language server and edits: `settings.mjs URL FILE`. Prints
// the messages that were shown, as JSON. The daemon is the fake one.
// CHROMIUM names the browser, PROFILE an empty directory, SHOTS a folder for screenshots.
import { openPage } from "./browser.mjs";
import { askForEdit, run, selectAllOf, setTheme } from "./user.mjs";

const [url, file] = process.argv.slice(2);
const page = await openPage(1100, 720);
const toasts = page.locator(".notification-toast");
const seen = {};

try {
  await page.goto(url, { waitUntil: "commit", timeout: 0 });
  await selectAllOf(page, file);
  // The second time, the first one is written.
  await setTheme(page, "dark");
  await setTheme(page, "light");
  seen.changed = await toasts.allInnerTexts();
  await run(page, "Copydraft: Restart Language Server");
  await askForEdit(page, file, "Fix it");
  const accept = page.locator(".codelens-decoration", { hasText: "Accept All" }).first();
  await accept.or(toasts.first()).waitFor();
  seen.edited = await toasts.allInnerTexts();
} catch (error) {
  seen.fault = String(error);
}
await page.screenshot({ path: `${process.env.SHOTS}/settings.png` });
console.log(JSON.stringify(seen));
await page.context().close();
