/** Runs the tests one after the other and writes down how each ended. */
import { appendFileSync } from "node:fs";

const LIMIT_MS = 60_000;

interface Outcome {
  name: string;
  /** What went wrong; "" if nothing. */
  fault: string;
}

const tests: { name: string; run: () => Promise<void> }[] = [];

/** A test; pytest finds its name in the source, so it stands on the line of the call. */
export function test(name: string, run: () => Promise<void> | void): void {
  tests.push({
    name,
    run: async () => {
      await run();
    },
  });
}

/** Run all tests (or those whose names match COPYDRAFT_TEST_ONLY), with `after` behind each. */
export async function runAll(after: () => Promise<void>): Promise<void> {
  const only = new RegExp(process.env.COPYDRAFT_TEST_ONLY ?? "");
  const report = process.env.COPYDRAFT_TEST_REPORT;
  const rejections: string[] = [];
  process.on("unhandledRejection", (reason) => {
    rejections.push(reason instanceof Error ? (reason.stack ?? reason.message) : String(reason));
  });
  for (const { name, run } of tests.filter((one) => only.test(one.name))) {
    let fault = "";
    try {
      await within(run());
    } catch (error) {
      fault = error instanceof Error ? (error.stack ?? error.message) : String(error);
    }
    await within(after()).catch((error: unknown) => {
      fault ||= `the test cannot be cleaned up: ${String(error)}`;
    });
    // What is rejected now is this test's.
    await new Promise((resolve) => setTimeout(resolve, 0));
    if (rejections.length > 0) fault ||= `unhandled: ${rejections.splice(0).join("\n")}`;
    const outcome: Outcome = { name, fault };
    if (report) appendFileSync(report, `${JSON.stringify(outcome)}\n`);
    console.log(`${fault ? "FAIL" : "ok  "} ${name}${fault ? `\n${fault}` : ""}`);
  }
}

async function within(running: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`not done after ${LIMIT_MS} ms`));
    }, LIMIT_MS);
  });
  try {
    await Promise.race([running, late]);
  } finally {
    clearTimeout(timer);
  }
}
