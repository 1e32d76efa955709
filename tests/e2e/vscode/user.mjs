// What a user does in VS Code, as the browser sees it.

const KEY_MS = 3000;
const MOST_KEYS = 20;
const VIEW_MS = 300_000;

/** Run a command of that title by the palette. */
export async function run(page, title) {
  const box = page.locator(".quick-input-box input");
  for (let keys = 1, open = false; !open; keys++) {
    // While the focus goes to a view that is still loading, a key reaches nobody.
    await page.keyboard.press("F1");
    open = await box.waitFor({ timeout: KEY_MS }).then(
      () => true,
      (fault) => {
        if (keys === MOST_KEYS) throw fault;
        return false;
      },
    );
  }
  await box.fill(`>${title}`);
  // Not Enter: the first of them may be another command.
  await page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click();
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

/** The title of a colour theme, and the class that VS Code and the views in it have then. */
export const THEMES = {
  light: ["Light 2026", "vs", "vscode-light"],
  dark: ["Dark 2026", "vs-dark", "vscode-dark"],
  contrast: ["Dark High Contrast", "hc-black", "vscode-high-contrast"],
  "contrast-light": ["Light High Contrast", "hc-light", "vscode-high-contrast-light"],
};

/** Choose a theme, and wait until it is there, in `view` too. */
export async function setTheme(page, theme, view) {
  const [title, workbench, body] = THEMES[theme];
  await run(page, "Preferences: Color Theme");
  // What is typed before the list is there is looked for on the network.
  const rows = page.locator(".quick-input-list .monaco-list-row");
  await rows
    .filter({ hasText: /^(Light|Dark) / })
    .first()
    .waitFor();
  await page.locator(".quick-input-box input").fill(title);
  await page.locator(".quick-input-list .monaco-list-row.focused", { hasText: title }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  await page.locator(`.monaco-workbench.${workbench}`).waitFor();
  await view?.locator(`body.${body}`).waitFor();
}

/** The page of a view, once it has an element like that. */
export async function viewWith(page, selector) {
  const latest = Date.now() + VIEW_MS;
  while (Date.now() < latest) {
    for (const frame of page.frames()) {
      const found = frame.locator(selector).count();
      if (await found.catch(() => 0)) return frame;
    }
    await page.waitForTimeout(100);
  }
  throw new Error(`no view has ${selector} after ${VIEW_MS} ms`);
}
