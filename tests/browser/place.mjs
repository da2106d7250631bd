// A directory to work in, the binary in it, and a browser: started here, and ended by their ids.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const bin = process.env.LONGBOAT_BIN;

export class Place {
  constructor() {
    this.dir = mkdtempSync(join(tmpdir(), "longboat-pages-"));
    this.workspace = join(this.dir, "shop");
    mkdirSync(this.workspace);
    const settings = join(this.dir, "home/.config/longboat");
    mkdirSync(settings, { recursive: true });
    writeFileSync(join(settings, "longboat.toml"), '[permissions]\nask = ["bash(rm *)"]\n');
    writeFileSync(
      join(this.workspace, "limit.py"),
      "def allowed(count, started, now, window, most):\n    if now - started > window:\n        count = 0\n    count += 1\n    return count <= most\n",
    );
    this.children = [];
  }

  // Starts the binary; gives the first line that it prints.
  start(...args) {
    const env = { PATH: process.env.PATH, HOME: join(this.dir, "home"), OPENAI_API_KEY: "none", TZ: "UTC" };
    const child = spawn(bin, args, { cwd: this.workspace, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    this.children.push(child);
    child.log = "";
    child.stderr.on("data", (data) => { child.log += data; });
    const line = new Promise((resolve, reject) => {
      let out = "";
      child.stdout.on("data", (data) => {
        out += data;
        if (out.includes("\n")) resolve(out.split("\n")[0]);
      });
      child.on("exit", (code) => reject(new Error(`longboat ${args[0]} ended with ${code}: ${child.log}`)));
    });
    line.catch(() => {});
    return { child, line };
  }

  async serve(model, port) {
    const { child, line } = this.start("serve", "--listen", String(port), "--model", "openai/any", "--base-url", model, "--store", join(this.dir, "store.db"));
    return { child, url: await line };
  }

  has(name) {
    return existsSync(join(this.workspace, name));
  }

  open(gate) {
    writeFileSync(join(this.workspace, gate), "");
  }

  async browser() {
    this.chromium = await chromium.launchPersistentContext(join(this.dir, "profile"), {
      executablePath: process.env.LONGBOAT_CHROMIUM ?? "/usr/bin/chromium",
      viewport: { width: 1240, height: 860 },
      timezoneId: "UTC",
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    });
    return this.chromium;
  }

  async end() {
    await this.chromium?.close();
    for (const child of this.children) await kill(child);
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

// Ends a process and what it started, at once.
export function kill(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  process.kill(-child.pid, "SIGKILL");
  return gone;
}

export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
