#!/usr/bin/env bash
# Runs the binary with MCP servers that nobody here wrote: the reference server over standard input and
# output and over streamable HTTP, and one in Python. A scripted model calls their tools; what they
# answered is read from the session's log.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
kept=${LONGBOAT_MCP_DIR:-$root/target/mcp-servers}
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
    echo "mcp: $1" >&2
    tail -n 20 "$work"/*.log >&2 || true
    echo "$passed passed, 1 failed"
    exit 1
}

# until_ready NAME COMMAND…: waits until a command of ours succeeds, as long as the last server lives.
until_ready() {
    local name=$1
    shift
    for _ in $(seq 1 300); do
        if "$@" >/dev/null 2>&1; then return; fi
        kill -0 "${servers[-1]}" 2>/dev/null || fail "$name did not start"
        sleep 0.1
    done
    fail "$name is not ready"
}

serve() {
    local name=$1
    shift
    setsid "$@" >"$work/$name.log" 2>"$work/$name.err.log" &
    servers+=("$!")
    # Its end is no news.
    disown
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

mkdir -p "$kept" "$work/ws"
if [ ! -x "$kept/venv/bin/mcp-server-time" ]; then
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
everything=$kept/node_modules/@modelcontextprotocol/server-everything/dist/index.js
export HOME=$work

time_section="[mcp.time]
command = \"$kept/venv/bin/mcp-server-time\"
tools = [\"get_current_time\", \"convert_time\"]"

# check NAME: a run with $work/NAME.toml, whose calls are those of the script.
check() {
    local name=$1 answer exported
    serve "model-$name" "$LONGBOAT_BIN" scripted-model --script "$here/script.json"
    until_ready "the model" grep -q http "$work/model-$name.log"
    LONGBOAT_BASE_URL=$(head -n 1 "$work/model-$name.log")
    export LONGBOAT_BASE_URL
    local command=("$LONGBOAT_BIN" -C "$work/ws" --store "$work/$name.db" --config "$work/$name.toml")
    answer=$("${command[@]}" run "Ask all servers." --model openai/any 2>"$work/run-$name.log") ||
        fail "$name: the run ended with $?"
    [ "$answer" = "All servers were asked." ] || fail "$name answered: $answer"
    exported=$("${command[@]}" export)
    grep '"tool/result"' <<<"$exported" >"$work/results-$name.log" || fail "$name has no results"
    for part in \
        '"status":"ok","content":[{"type":"text","text":"Echo: Grüße"}]' \
        'The sum of 2 and 40 is 42.' \
        '"type":"image","media_type":"image/png"' \
        '\"conditions\":' \
        '[the resource demo://resource/dynamic/text/1]' \
        '[a resource: ' \
        'Long running operation completed. Duration: 1 seconds, Steps: 4.' \
        '"time_difference\":' \
        'Invalid timezone'; do
        grep -qF -- "$part" "$work/results-$name.log" || fail "$name: no result has: $part"
    done
    [ "$(grep -c '"status":"ok"' "$work/results-$name.log")" -eq 8 ] ||
        fail "$name: not all calls came out as they should"
    [ "$(grep -c '"status":"error"' "$work/results-$name.log")" -eq 2 ] ||
        fail "$name: not all bad calls were refused"
    "${command[@]}" doctor >"$work/doctor-$name.log" 2>&1 || true
    grep -q '^ok    mcp everything: .*everything__echo' "$work/doctor-$name.log" ||
        fail "$name: doctor does not list the tools"
    if grep -q '^WRONG mcp' "$work/doctor-$name.log"; then fail "$name: doctor finds something wrong"; fi
    echo "ok: $name"
    passed=$((passed + 1))
}

# gone WHAT: nothing with this in its command line is left.
gone() {
    for _ in $(seq 1 50); do
        if ! pgrep -f -- "$1" >/dev/null; then
            passed=$((passed + 1))
            return
        fi
        sleep 0.1
    done
    fail "a server outlives its run: $1"
}

cat >"$work/stdio.toml" <<END
[mcp.everything]
command = "node"
args = ["$everything", "stdio"]
$time_section
END
check stdio
gone "$everything stdio"
gone "$kept/venv/bin/mcp-server-time"

port=$(free_port)
serve everything env PORT="$port" node "$everything" streamableHttp
until_ready "the server over HTTP" curl --silent --output /dev/null "http://127.0.0.1:$port/mcp"
cat >"$work/http.toml" <<END
[mcp.everything]
url = "http://127.0.0.1:$port/mcp"
$time_section
END
check http

# A launcher that starts the real server, as people configure it; killed in the middle of a call, it
# leaves nothing.
cat >"$work/slow.json" <<'END'
{"agents": [{"name": "lead", "steps": [
    {"calls": [{"name": "everything__trigger-long-running-operation",
        "arguments": {"duration": 600, "steps": 600}}]},
    {"text": "Over."}]}]}
END
cat >"$work/killed.toml" <<END
[mcp.everything]
command = "npm"
args = ["exec", "--prefix", "$kept", "--offline", "--", "mcp-server-everything", "stdio"]
END
serve model-slow "$LONGBOAT_BIN" scripted-model --script "$work/slow.json"
until_ready "the model" grep -q http "$work/model-slow.log"
LONGBOAT_BASE_URL=$(head -n 1 "$work/model-slow.log")
command=("$LONGBOAT_BIN" -C "$work/ws" --store "$work/killed.db" --config "$work/killed.toml")
serve killed "${command[@]}" run --json "Wait." --model openai/any
until_ready "the call" grep -q '"tool/started"' "$work/killed.log"
launched="$kept/node_modules/.bin/mcp-server-everything stdio"
pgrep -f -- "$launched" >/dev/null || fail "the launched server is not seen"
kill -KILL "${servers[-1]}"
gone "$launched"
answer=$("${command[@]}" resume 2>"$work/resume.log") || fail "the killed run does not go on"
[ "$answer" = "Over." ] || fail "the killed run answered: $answer"
"${command[@]}" export | grep -q '"tool/result".*"status":"unknown"' ||
    fail "the call that was killed is not unknown"
echo "ok: killed in a call"
passed=$((passed + 1))
echo "$passed passed, 0 failed"
