#!/bin/sh
# Builds the tests with nothing but rustc, runs them, and prints what matters of their report.
set -e
mkdir -p target
TMPDIR="$PWD/target" rustc --edition 2021 --test src/lib.rs -o target/tests
code=0
RUST_BACKTRACE=0 target/tests --test-threads=1 >target/report 2>&1 || code=$?
grep -E '^test |^ *(left|right):' target/report
exit "$code"
