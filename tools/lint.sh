#!/bin/sh
# Style and structure: the layer checker, size limits, clang-format (pinned major
# version), cppcheck. What is not installed is skipped by name.
set -eu
fail=0
sh tools/check_layers.sh || fail=1
sh tools/check_sizes.sh || fail=1

FORMAT_MAJOR=14
format=
for candidate in clang-format-$FORMAT_MAJOR clang-format; do
    if command -v "$candidate" >/dev/null 2>&1 &&
        "$candidate" --version | grep -q "version $FORMAT_MAJOR\\."; then
        format=$candidate
        break
    fi
done
if [ -n "$format" ]; then
    git ls-files '*.c' '*.h' | xargs "$format" --dry-run -Werror 2> build-format.log || {
        head -40 build-format.log
        echo "lint: run $format -i on the files above"
        fail=1
    }
    rm -f build-format.log
else
    echo "skipped: formatting (clang-format $FORMAT_MAJOR is not installed)"
fi

CPPCHECK_VERSION=2.10
if command -v cppcheck >/dev/null 2>&1 && cppcheck --version | grep -q " $CPPCHECK_VERSION"; then
    cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr \
        --suppress=missingIncludeSystem --suppress=nullPointerOutOfMemory --suppress=checkersReport \
        --std=c11 -j "$(nproc)" -Isrc -Iinclude src 2>&1 || fail=1
else
    echo "skipped: cppcheck (version $CPPCHECK_VERSION is not installed)"
fi
[ $fail = 0 ] && echo "lint: clean"
exit $fail
