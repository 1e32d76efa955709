// Chromium without a display, as root, and without the network.
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * A page of that size in a browser of its own, which is closed by its context.
 *
 * CHROMIUM names the browser, PROFILE an empty directory, LIMIT_MS, if given, how long to wait for
 * anything.
 */
export async function openPage(width, height, options = {}) {
  const context = await chromium.launchPersistentContext(process.env.PROFILE, {
    executablePath: process.env.CHROMIUM,
    args: FLAGS,
    viewport: { width, height },
    ...options,
  });
  if (process.env.LIMIT_MS) context.setDefaultTimeout(Number(process.env.LIMIT_MS));
  return context.pages()[0] ?? context.newPage();
}
