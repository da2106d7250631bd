// A whole run, watched and steered in a browser: each line that begins with "ok" is a promise kept.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Place, freePort, kill } from "./place.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const pictures = "pictures";
mkdirSync(pictures, { recursive: true });

let passed = 0;
const ok = (what) => {
  passed += 1;
  console.log(`ok: ${what}`);
};

const place = new Place();
const troubles = [];

// Waits until a locator shows something that fits, and says what it shows when it never does.
async function shows(locator, text, within = 20_000) {
  try {
    await locator.filter({ hasText: text }).first().waitFor({ timeout: within });
  } catch {
    const now = await locator.allInnerTexts();
    throw new Error(`${text} is not shown; shown is: ${now.join(" | ").slice(0, 1500)}`);
  }
}

async function accessible(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    const serious = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
    const story = serious.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join("; ")}`);
    assert.deepEqual(story, [], `${name}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  ok(`${name} has no serious fault for anybody, in light and in dark`);
}

async function fitsPhone(page, name) {
  await page.setViewportSize({ width: 360, height: 740 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  await page.screenshot({ path: `${pictures}/${name}-phone.png` });
  await page.setViewportSize({ width: 1240, height: 860 });
  assert.ok(wide <= 360, `${name} is ${wide} wide on a phone of 360`);
  ok(`${name} is read on a phone without scrolling sideways`);
}

async function shoot(page, name, colorScheme = "light") {
  await page.emulateMedia({ colorScheme });
  await page.screenshot({ path: `${pictures}/${name}.png` });
  await page.emulateMedia({ colorScheme: "light" });
}

async function story() {
  const { line } = place.start("scripted-model", "--script", new URL("./story.json", import.meta.url).pathname);
  const model = await line;
  const port = await freePort();
  let server = await place.serve(model, port);
  const browser = await place.browser();
  const page = browser.pages()[0] ?? (await browser.newPage());
  for (const event of ["console", "pageerror", "dialog"]) {
    page.on(event, (what) => {
      const text = what.text?.() ?? what.message;
      const known = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/;
      if (event !== "console" || (what.type() === "error" && !known.test(text))) troubles.push(`${event}: ${text}`);
    });
  }
  const origins = new Set();
  page.on("request", (request) => origins.add(new URL(request.url()).origin));

  // A run is begun.
  await page.goto(server.url);
  assert.ok(!page.url().includes("token"), "the token leaves the address");
  await shows(page.locator("#link"), "live");
  await accessible(page, "the empty list of sessions");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip", "the way past the frame comes first");
  await page.getByLabel("Start a run").fill("The limiter drops requests. Make a team: one who looks, one who builds. Tell me when it holds.");
  await page.keyboard.press("Control+Enter");
  await page.waitForURL(/\/sessions\/s-/);
  const team = page.url();
  ok("a run is begun from the page");

  // It is watched: the roster grows, tasks are drawn, a reply streams.
  const member = (name) => page.locator(`#member-${name}`);
  await shows(member("scout"), "Writes:");
  await shows(member("builder"), "bash while [ ! -f gate-one ]");
  await shows(page.locator("#graph"), "Build the limiter");
  assert.equal(await page.locator("#graph path.edge").count(), 5);
  ok("members, their doings and the graph of tasks appear as they come to be");
  const scout = await browser.newPage();
  await scout.goto(`${team}/m/scout`);
  const coming = scout.locator(".said.coming .text");
  const lengths = [];
  for (let n = 0; n < 3; n += 1) {
    const before = lengths.at(-1) ?? 0;
    await scout.waitForFunction((before) => (document.querySelector(".said.coming .text")?.textContent.length ?? 1e9) > before, before);
    lengths.push(await coming.textContent().then((text) => text.length, () => 1e9));
  }
  assert.ok(lengths[0] < lengths[1] && lengths[1] < lengths[2], `it grows: ${lengths}`);
  ok("a reply is read while it comes in");

  // A message to a member in the middle of a turn waits for it, visibly.
  await shows(page.locator("#message-m1"), "accepted, unread");
  await shows(page.locator("#message-m2"), "read after");
  assert.equal(await page.locator("#message-m1 rect.open").count(), 1);
  ok("the way of each message is drawn, and a wait that goes on is told from one that ended");

  // What others wrote stays text.
  await scout.bringToFront();
  const call = scout.locator("details.tool", { hasText: "printf" });
  await call.locator("summary").click();
  await shows(call.locator("pre"), '<script>document.title = "taken over"</script>');
  await shows(call.locator("pre"), /^two requests lost at the edge/m);
  assert.ok(!(await scout.title()).includes("taken over"));
  await shows(scout.locator(".said .text"), "<img src=x onerror=");
  await shows(scout.locator(".mark"), "completed");
  assert.ok(await call.evaluate((details) => details.open), "what was opened stays open");
  ok("markup and escape sequences that others wrote are text, and what is open stays open");
  await scout.close();

  // A member is steered in the middle of its turn.
  const builder = await browser.newPage();
  await builder.goto(`${team}/m/builder`);
  await builder.getByLabel("Say to builder").fill("Keep the name of the function.");
  await builder.getByLabel("Steer now").check();
  await builder.getByRole("button", { name: "Send" }).click();
  await shows(builder.locator("#outcome"), "builder reads it at its next step");
  await shows(builder.locator("#pending"), "2 items in the inbox");
  assert.equal(await builder.locator("#words").inputValue(), "");
  place.open("gate-one");
  await shows(builder.locator(".heard.human"), "Keep the name of the function.");
  await shows(builder.locator(".heard.mail"), "Message m1 from scout");
  await shows(builder.locator(".said"), "Message and wish are read.");
  assert.equal(await builder.locator(".mark.turn").count(), 1, "it is the same turn");
  const edit = builder.locator("details.tool", { hasText: "edit" });
  await edit.locator("summary").click();
  await shows(edit.locator(".diff .plus"), "times.append(now)");
  await shows(edit.locator(".diff .minus"), "count += 1");
  await edit.scrollIntoViewIfNeeded();
  await builder.waitForFunction(() => document.getElementById("outcome").textContent === "");
  await shoot(builder, "transcript");
  await page.bringToFront();
  await shows(member("builder"), "gate-two");
  await page.setViewportSize({ width: 1240, height: 1080 });
  await shoot(page, "team");
  await shoot(page, "team-dark", "dark");
  await page.setViewportSize({ width: 1240, height: 860 });
  await builder.bringToFront();
  ok("a member is steered in the middle of its turn, and what it edits is seen");

  // It is interrupted, and goes on when it is told to.
  await shows(builder.locator("details.tool"), "gate-two");
  await builder.getByRole("button", { name: "Interrupt builder" }).click();
  await shows(builder.locator(".mark"), "interrupted by human");
  await shows(builder.locator("#member-builder"), "idle");
  await builder.getByLabel("Say to builder").fill("Go on.");
  await builder.getByRole("button", { name: "Send" }).click();
  await shows(builder.locator(".mark.turn"), "Turn 2");
  ok("a member is interrupted from the page, and a queued prompt is a turn of its own");

  // The server dies under the open page and comes back.
  await shows(builder.locator("details.tool"), "gate-three");
  await page.bringToFront();
  await shows(member("builder"), "gate-three");
  const before = await page.locator("#mail > li").count();
  await kill(server.child);
  await shows(page.locator("#link"), "reconnecting");
  place.open("gate-three");
  server = await place.serve(model, port);
  await shows(page.locator("#link"), "live");
  await shows(page.locator("#banner"), "This session is not loaded");
  assert.equal(await page.locator("#mail > li").count(), before);
  await page.getByRole("button", { name: "Resume this session" }).click();
  await shows(page.locator("#mail > li"), "it outlived a crash");

  // It asks for permission, and the question outlives another death of the server.
  const question = page.locator("#questions .question");
  await shows(question, "builder asks to call bash");
  await shows(question.locator("pre"), "command: rm -f gate-one gate-three && echo '<b>gone</b>'");
  await shows(member("builder"), "Waits for permission");
  await accessible(page, "a question");
  await shoot(page, "question");
  await builder.bringToFront();
  await shows(builder.locator("#questions .question"), "builder asks to call bash");
  await shows(builder.locator("details.tool"), "waits for permission");
  await page.bringToFront();
  await kill(server.child);
  await shows(page.locator("#link"), "reconnecting");
  server = await place.serve(model, port);
  await shows(page.locator("#link"), "live");
  await shows(question, "builder asks to call bash");
  assert.ok(place.has("gate-one"), "nothing runs before the answer");
  await page.getByRole("button", { name: /^Allow once: builder/ }).click();
  await shows(member("builder"), "The limiter is built.");
  assert.equal(await question.count(), 0);
  assert.ok(!place.has("gate-one"), "what was permitted ran");
  ok("a member is asked what it wants, across a restart, and answered from the page");
  await shows(page.locator("#summary"), "nobody is running");
  assert.equal(await page.locator("#banner").innerText(), "");
  await builder.bringToFront();
  await shows(builder.locator("#link"), "live");
  await shows(builder.locator("details.tool"), "outcome unknown");
  await shows(builder.locator(".said"), "The limiter is built.");
  ok("a page under which the server was killed goes on by itself");

  // Nothing is missing: what the page shows is what a page made anew shows.
  const kept = { steps: await texts(builder, "#steps > li"), mail: await texts(page, "#mail > li"), roster: await texts(page, "#roster > li") };
  await builder.reload();
  await page.reload();
  await shows(builder.locator("#link"), "live");
  await shows(page.locator("#link"), "live");
  assert.deepEqual(await texts(builder, "#steps > li"), kept.steps);
  assert.deepEqual(await texts(page, "#mail > li"), kept.mail);
  assert.deepEqual(await texts(page, "#roster > li"), kept.roster);
  ok("nothing is missing on it");

  // Everybody can use every page.
  for (const [name, path] of [["sessions", "/"], ["team", new URL(team).pathname], ["member", `${new URL(team).pathname}/m/builder`], ["messages", `${new URL(team).pathname}/mail`], ["step", `${new URL(team).pathname}/m/builder?step=1`]]) {
    await page.goto(new URL(path, team).href);
    if (name !== "messages" && name !== "step") await shows(page.locator("#link"), "live");
    for (const details of await page.locator("details").all()) await details.evaluate((d) => { d.open = true; });
    await accessible(page, `the page ${name}`);
    await fitsPhone(page, name);
  }
  await page.goto(new URL("/", team).href);
  await shows(page.locator("#sessions"), "The limiter drops requests");
  await shoot(page, "sessions");
  await page.goto(new URL("/sessions/s-nothing", team).href);
  await shows(page.locator("h1"), "Not Found");
  troubles.splice(0, troubles.length, ...troubles.filter((t) => !/404/.test(t)));

  assert.deepEqual([...origins], [new URL(team).origin], "nobody else is asked for anything");
  assert.deepEqual(troubles, []);
  ok("no page asks anybody else, and no script complains");
}

// What a list says, folded or not. How long ago things were is not compared.
async function texts(page, selector) {
  const all = await page.locator(selector).allTextContents();
  return all.map((text) => text.replace(/\d+ (s|min)( ago)?\b/g, "…").replace(/\s+/g, " "));
}

try {
  await story();
  console.log(`${passed} passed, 0 failed`);
} catch (error) {
  console.error(error);
  for (const page of place.chromium?.pages() ?? []) {
    await page.screenshot({ path: `${pictures}/failed-${place.chromium.pages().indexOf(page)}.png` }).catch(() => {});
  }
  for (const child of place.children) console.error(child.log.split("\n").slice(-15).join("\n"));
  if (troubles.length > 0) console.error(troubles.join("\n"));
  console.log(`${passed} passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await place.end();
}
