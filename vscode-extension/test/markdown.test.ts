import assert from "node:assert/strict";

import { lineFinder, lineNumbers, render } from "../src/markdown";
import { test } from "./runner";

const nowhere = (): undefined => undefined;

test("HTML in an answer is text", () => {
  const html = render(
    '<img src="x" onerror="alert(1)"> <script>alert(2)</script>',
    nowhere,
    nowhere,
  );
  assert(!html.includes("<img"));
  assert(!html.includes("<script"));
  assert(html.includes("&lt;script&gt;"));
});

test("links and images in an answer lead nowhere", () => {
  const html = render(
    "[click](command:workbench.action.quit) ![x](http://host/x) <http://host>",
    nowhere,
    nowhere,
  );
  assert(!html.includes("href"));
  assert(!html.includes("src="));
});

test("a code block's language cannot leave its attribute", () => {
  const html = render('```py"><script>\nx\n```', nowhere, nowhere);
  assert(!html.includes("<script>"));
});

test("code blocks have a button that copies them", () => {
  assert(render("```py\nx = 1\n```", nowhere, nowhere).includes('<button class="copy"'));
});

test("a fence within a longer fence is text, and does not end it", () => {
  const html = render("````md\n```py\nx = 1\n```\n````\nafter", nowhere, nowhere);
  assert(html.includes("```py\nx = 1\n```"));
  assert.equal(html.match(/<pre/g)?.length, 1);
});

test("a fence that is not closed yet is shown as code", () => {
  const html = render("before\n```py\nx = <1>", nowhere, nowhere);
  assert.match(html, /<pre[^>]*>.*x = &lt;1&gt;/s);
});

test("code that an answer names leads to its line, those asked about first", () => {
  const lineOf = lineFinder(["add = 1", "def add():", "address"], 1, 2);
  assert.equal(lineOf("add"), 1);
  assert.equal(lineOf("add()"), 1);
  assert.equal(lineOf("dress"), undefined);
  assert(render("`add`", lineOf, nowhere).includes('data-line="1"'));
});

test("lines that an answer names by number lead there, counted from the first one asked about", () => {
  const html = render("See line 2, lines 1-3 & Line 99.", nowhere, lineNumbers(10, 13));
  assert(html.includes('data-line="11" title="Go to line 12">line 2</button>'));
  assert(html.includes('data-line="10" title="Go to line 11">lines 1-3</button> &amp; Line 99.'));
});

test("a number behind the last line asked about is one of the document's", () => {
  const numbered = lineNumbers(10, 13);
  assert.deepEqual([0, 1, 3, 4, 11, 13, 14].map(numbered), [
    undefined,
    10,
    12,
    undefined,
    10,
    12,
    undefined,
  ]);
});

test("headings of an answer stand below the page's own", () => {
  assert.equal(render("# One\n\n#### Four\n", nowhere, nowhere), "<h3>One</h3>\n<h6>Four</h6>\n");
});
