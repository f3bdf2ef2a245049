#!/bin/sh
# Line coverage of the library and the binary: build/coverage/report.txt
set -eu
tools/build.sh coverage > /dev/null
ctest --test-dir build/coverage -j "$(nproc)" --output-on-failure > build/coverage/tests.log || {
    tail -30 build/coverage/tests.log
    exit 1
}
if ! command -v lcov >/dev/null 2>&1; then
    echo "skipped: the report (lcov is not installed)"
    exit 0
fi
lcov --quiet --capture --directory build/coverage --output-file build/coverage/all.info
lcov --quiet --extract build/coverage/all.info "$PWD/src/*" --output-file build/coverage/src.info
lcov --list build/coverage/src.info | tee build/coverage/report.txt | tail -1
