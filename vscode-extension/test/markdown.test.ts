import assert from "node:assert/strict";

import { lineFinder, render } from "../src/markdown";
import { test } from "./runner";

const nowhere = (): undefined => undefined;

test("HTML in an answer is text", () => {
  const html = render('<img src="x" onerror="alert(1)"> <script>alert(2)</script>', nowhere);
  assert(!html.includes("<img"));
  assert(!html.includes("<script"));
  assert(html.includes("&lt;script&gt;"));
});

test("links and images in an answer lead nowhere", () => {
  const html = render(
    "[click](command:workbench.action.quit) ![x](http://host/x) <http://host>",
    nowhere,
  );
  assert(!html.includes("href"));
  assert(!html.includes("src="));
});

test("a code block's language cannot leave its attribute", () => {
  const html = render('```py"><script>\nx\n```', nowhere);
  assert(!html.includes("<script>"));
});

test("code blocks have a button that copies them", () => {
  assert(render("```py\nx = 1\n```", nowhere).includes('<button class="copy"'));
});

test("code that an answer names leads to its line, those asked about first", () => {
  const lineOf = lineFinder(["add = 1", "def add():", "address"], 1, 2);
  assert.equal(lineOf("add"), 1);
  assert.equal(lineOf("add()"), 1);
  assert.equal(lineOf("dress"), undefined);
  assert(render("`add`", lineOf).includes('data-line="1"'));
});
