// Opens a page in headless Chromium and waits for the extension's tests to end: `drive.mjs URL`.
// CHROMIUM names the browser, PROFILE an empty directory, USER_AGENT what the browser says that it
// is, if not the truth. Prints what the tests log; exits with their result.
import { openPage } from "./browser.mjs";

const { USER_AGENT } = process.env;
const page = await openPage(900, 600, USER_AGENT ? { userAgent: USER_AGENT } : {});
const ended = new Promise((resolve) => {
  void page.exposeFunction("codeAutomationLog", (_kind, values) => {
    if (/^(ok|FAIL) /.test(String(values[0]))) console.log(...values);
  });
  void page.exposeFunction("codeAutomationExit", (code) => resolve(code));
});
page.on("pageerror", (error) => console.log(`page: ${error.message}`));
// Nothing but the tests says when all is loaded, and on a busy machine that takes its time.
await page.goto(process.argv[2], { waitUntil: "commit", timeout: 0 });
const code = await Promise.race([
  ended,
  new Promise((resolve) => setTimeout(() => resolve(124), Number(process.env.LIMIT_MS))),
]);
if (code !== 0) await page.screenshot({ path: `${process.env.PROFILE}.png` });
await page.context().close();
process.exit(code);
