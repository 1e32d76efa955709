// What a user does in VS Code, as the browser sees it.

/** Run a command of that title by the palette. */
export async function run(page, title) {
  await page.keyboard.press("F1");
  await page.locator(".quick-input-box input").fill(`>${title}`);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().waitFor();
  await page.keyboard.press("Enter");
}

/** Open a file of the workspace and select all of it, once the extension is there. */
export async function selectAllOf(page, file) {
  await page.locator(".statusbar-item", { hasText: /Copydraft/ }).waitFor();
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: file }).dblclick();
  await page.locator(".tab", { hasText: file }).waitFor();
  await page.locator(".editor-instance .view-line").first().click();
  await page.keyboard.press("Control+A");
}

/** Ask for an edit of what is selected; `beforeEnter` runs when all is typed. */
export async function askForEdit(page, file, instruction, beforeEnter = () => undefined) {
  await run(page, "Copydraft: Edit Selection");
  await page.locator(".quick-input-title", { hasText: "Copydraft: edit" }).waitFor();
  await page.locator(".quick-input-box input").fill(instruction);
  await beforeEnter();
  await page.keyboard.press("Enter");
  await page.locator(".tab", { hasText: `Copydraft: ${file}` }).waitFor();
}
