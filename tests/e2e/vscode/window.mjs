// A window in which an edit was asked for: `window.mjs URL FILE INSTRUCTION`. Prints a line when
// its preview is shown; closes the window, as its user would, when its input ends.
// CHROMIUM names the browser, PROFILE an empty directory.
import { once } from "node:events";

import { openPage } from "./browser.mjs";
import { askForEdit, selectAllOf } from "./user.mjs";

const [url, file, instruction] = process.argv.slice(2);
const page = await openPage(900, 600);
await page.goto(url, { waitUntil: "commit", timeout: 0 });
await selectAllOf(page, file);
await askForEdit(page, file, instruction);
console.log("asked");
process.stdin.resume();
await once(process.stdin, "end");
await page.close({ runBeforeUnload: true });
if (!page.isClosed()) await page.waitForEvent("close");
await page.context().close();
