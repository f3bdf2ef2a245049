#!/bin/sh
# Coverage of the library and the binary by the tests: lines and branches by room
# in build/coverage/rooms.txt, by file in build/coverage/report.txt.
set -eu
tools/build.sh coverage > /dev/null
find build/coverage -name '*.gcda' -delete # of this run only
status=0
ctest --test-dir build/coverage -j "$(nproc)" --output-on-failure > build/coverage/tests.log || status=$?
[ $status = 0 ] || sed -n '/^The following tests FAILED/,$p' build/coverage/tests.log
if ! command -v lcov > /dev/null 2>&1; then
    echo "skipped: the report (lcov is not installed)"
    exit $status
fi
# the same setting by its name in lcov 1 and in lcov 2
branches='--rc lcov_branch_coverage=1 --rc branch_coverage=1'
lcov --quiet $branches --capture --directory build/coverage/CMakeFiles/waybill_objects.dir \
    --directory build/coverage/CMakeFiles/waybill.dir --output-file build/coverage/all.info \
    2> build/coverage/lcov.log
lcov --quiet $branches --extract build/coverage/all.info "$PWD/src/*" --output-file build/coverage/src.info
lcov $branches --list build/coverage/src.info > build/coverage/report.txt
awk -v base="$PWD/src/" '
    /^SF:/ { room = substr($0, 4 + length(base)); sub("/.*", "", room); rooms[room] = 1 }
    /^DA:/ { split($0, v, ","); lines[room]++; hit[room] += v[2] > 0 }
    /^BRDA:/ { split($0, v, ","); ways[room]++; taken[room] += v[4] != "-" && v[4] > 0 }
    END {
        for (r in rooms) {
            printf "%-10s %6d lines  %5.1f %%   branches %5.1f %%\n", r, lines[r],
                100 * hit[r] / lines[r], ways[r] ? 100 * taken[r] / ways[r] : 0 | "sort"
            l += lines[r]; h += hit[r]; w += ways[r]; t += taken[r]
        }
        close("sort")
        printf "%-10s %6d lines  %5.1f %%   branches %5.1f %%\n", "all", l, 100 * h / l, 100 * t / w
    }' build/coverage/src.info | tee build/coverage/rooms.txt
exit $status
