#!/usr/bin/env bash
# Looks at a team with a real browser: Chromium against the binary, which runs a team that the scripted
# model plays. Pictures of the pages are left in target/browser/pictures.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
kept=${LONGBOAT_BROWSER_DIR:-$root/target/browser}

mkdir -p "$kept"
if ! cmp --silent "$here/package-lock.json" "$kept/package-lock.json"; then
    cp "$here/package.json" "$here/package-lock.json" "$kept/"
    npm ci --silent --no-audit --no-fund --ignore-scripts --prefix "$kept"
fi
if [ -z "${LONGBOAT_BIN:-}" ]; then
    (cd "$root" && cargo build --quiet --locked --package longboat-cli)
    LONGBOAT_BIN=${CARGO_TARGET_DIR:-$root/target}/debug/longboat
fi
cp "$here"/*.mjs "$here/story.json" "$kept/"
export LONGBOAT_BIN
cd "$kept" && exec node pages.mjs
