// A new user's first minutes, from the walkthrough to an accepted edit: `new_user.mjs URL MODEL`.
// CHROMIUM names the browser, PROFILE an empty directory, SHOTS a folder for screenshots. Prints a
// line of JSON when a step is reached: its name, and the time in ms since 1970.
import { openPage } from "./browser.mjs";

const [url, model] = process.argv.slice(2);
const { SHOTS, INSTRUCTION } = process.env;
const page = await openPage(1100, 720);
const reached = async (step) => {
  console.log(JSON.stringify({ step, at: Date.now() }));
  await page.screenshot({ path: `${SHOTS}/${step.replaceAll(" ", "-")}.png` });
};
const toast = (text) => page.locator(".notification-toast", { hasText: text });
/** Press a button of the walkthrough, in the step of that title. */
async function walk(step, button) {
  const shown = page.locator(".getting-started-step", { hasText: step });
  await shown.click();
  await shown.getByRole("button", { name: button, exact: true }).click();
}

try {
  await page.goto(url, { waitUntil: "commit", timeout: 0 });
  await page.locator(".getting-started-step", { hasText: "Set up" }).waitFor();
  await reached("walkthrough shown");

  await walk("Set up", "Set Up");
  await toast("Copydraft is set up").waitFor();
  await reached("set up");

  await toast("Copydraft is set up").getByRole("button", { name: "Choose Model" }).click();
  const rows = page.locator(".quick-input-list .monaco-list-row");
  await rows.filter({ hasText: model }).first().waitFor();
  await reached("models listed");
  await rows.filter({ hasText: model }).first().click();
  await toast(`Copydraft uses ${model}`).waitFor();
  await reached("model downloaded");

  await walk("Try an edit", "Try It");
  await page.locator(".quick-input-title", { hasText: "Copydraft: edit" }).waitFor();
  await page.locator(".quick-input-box input").fill(INSTRUCTION);
  await page.keyboard.press("Enter");
  const lenses = page.locator(".codelens-decoration");
  await lenses
    .filter({ hasText: /tokens|Accept All/ })
    .first()
    .waitFor();
  await reached("edit shown");
  await lenses.filter({ hasText: "Accept All" }).first().waitFor();
  await reached("edit complete");
  await page.keyboard.press("Control+Enter");
  await page.locator(".tab", { hasText: "Copydraft: " }).waitFor({ state: "detached" });
  await reached("edit accepted");
} catch (error) {
  await reached("fault");
  console.error(String(error));
  process.exitCode = 1;
}
await page.context().close();
