#!/usr/bin/env bash
# Runs the binary against model servers that nobody here wrote, on both wires: the litellm proxy with a
# made-up reply and a key, and aimock with streamed parallel tool calls whose results it takes back.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
kept=${LONGBOAT_FOREIGN_DIR:-$root/target/foreign}
work=$(mktemp -d)
servers=()
passed=0

cleanup() {
    # Launchers leave children: whole groups go.
    for server in "${servers[@]}"; do kill -KILL -- "-$server" 2>/dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT

fail() {
    echo "foreign: $1" >&2
    tail -n 20 "$work"/*.log >&2 || true
    echo "$passed passed, 1 failed"
    exit 1
}

# serve NAME URL COMMAND…: starts a server in a group of its own and waits until the URL answers.
serve() {
    local name=$1 url=$2
    shift 2
    setsid "$@" >"$work/$name.log" 2>&1 &
    local server=$!
    servers+=("$server")
    for _ in $(seq 1 600); do
        if curl --silent --output /dev/null --max-time 2 "$url"; then return; fi
        kill -0 "$server" 2>/dev/null || fail "$name did not start"
        sleep 0.2
    done
    fail "$name does not answer"
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# check SERVER MODEL PROMPT ANSWER: a run whose answer is known.
check() {
    local answer
    answer=$("$LONGBOAT_BIN" -C "$work/ws" --store "$work/$1-${2%%/*}.db" run "$3" --model "$2" \
        2>"$work/run.log") || fail "$1, $2: the run ended with $?"
    [ "$answer" = "$4" ] || fail "$1, $2 answered: $answer"
    echo "ok: $1, $2: $4"
    passed=$((passed + 1))
}

mkdir -p "$kept" "$work/ws"
if [ ! -x "$kept/venv/bin/litellm" ]; then
    python3 -m venv "$kept/venv"
    "$kept/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
fi
if [ ! -d "$kept/node_modules" ]; then
    cp "$here/package.json" "$kept/"
    npm install --silent --no-audit --no-fund --no-package-lock --prefix "$kept"
fi
if [ -z "${LONGBOAT_BIN:-}" ]; then
    (cd "$root" && cargo build --quiet --locked --package longboat-cli)
    LONGBOAT_BIN=${CARGO_TARGET_DIR:-$root/target}/debug/longboat
fi

# The proxy wants a key, so both ways of bringing one are tried too.
key=sk-$(python3 -c 'import secrets; print(secrets.token_hex(24))')
export LITELLM_LOCAL_MODEL_COST_MAP=True LITELLM_MASTER_KEY=$key
export OPENAI_API_KEY=$key ANTHROPIC_API_KEY=$key HOME=$work
port=$(free_port)
serve litellm "http://127.0.0.1:$port/health/liveliness" \
    "$kept/venv/bin/litellm" --config "$here/config.yaml" --host 127.0.0.1 --port "$port"
export LONGBOAT_BASE_URL=http://127.0.0.1:$port/v1
for provider in openai anthropic; do
    check litellm "$provider/says-hello" "Say hello." "Hello from a server that nobody here wrote."
done

port=$(free_port)
serve aimock "http://127.0.0.1:$port/v1/models" \
    node "$kept/node_modules/@copilotkit/aimock/dist/cli.js" \
    --host 127.0.0.1 --port "$port" --fixtures "$here/fixtures.json" --chunk-size 3 --strict
export LONGBOAT_BASE_URL=http://127.0.0.1:$port/v1
for provider in openai anthropic; do
    check aimock "$provider/any" "Look at it." "Both calls were run and came back."
    exported=$("$LONGBOAT_BIN" -C "$work/ws" --store "$work/aimock-$provider.db" export)
    grep -q '"subject":"Grüße","description":"with \\"quotes\\""' <<<"$exported" ||
        fail "aimock, $provider: the task is not what the model wrote"
    [ "$(grep -c '"tool/result".*"status":"ok"' <<<"$exported")" -eq 2 ] ||
        fail "aimock, $provider: not both calls were run"
done
echo "$passed passed, 0 failed"
