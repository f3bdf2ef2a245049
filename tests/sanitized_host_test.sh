#!/bin/bash
# Commands run in a host that was built with a sanitizer, though the library was not: the holder
# and the launch are copies of the host, shadow memory included.
set -eu
skip() {
    echo "skipped: $*"
    exit 77
}
grep -q '^WAYBILL_SANITIZE:STRING=.' CMakeCache.txt && skip "sanitized hosts (the library has a sanitizer itself)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/ws/.git" "$work/home"
export HOME="$work/home"
unset XDG_CONFIG_HOME XDG_STATE_HOME WAYBILL_ROOT WAYBILL_STATE
failed=0

cat > "$work/host.c" <<'C'
#include <stdio.h>
#include <waybill/waybill.h>

int main(int argc, char **argv)
{
    wb_options *options = wb_options_new();
    wb_request *request = wb_request_new("ExecCommand");
    wb_result *result;
    wb_runtime *runtime;

    if (argc != 2 || wb_options_set(options, WB_OPT_ROOT, argv[1]) != WB_OK ||
        wb_runtime_new(options, &runtime, NULL) != WB_OK ||
        wb_request_set(request, WB_FIELD_INPUT, "{\"cmd\":\"echo hello\"}") != WB_OK)
        return 1;
    for (int i = 0; i < 2; i++) { /* with the first keeper and with a spare one */
        if (wb_call_run(runtime, request, &result) != WB_OK)
            return 1;
        puts(wb_result_view(result, WB_VIEW_RECEIPT, NULL));
        wb_result_free(result);
    }
    wb_request_free(request);
    wb_runtime_free(runtime);
    wb_options_free(options);
    return 0;
}
C
receipt=$'Process exited with code 0\nstdout: (1 line)\nhello'
tried=0
for compiler in gcc clang; do
    for sanitizer in address thread; do
        "$compiler" -fsanitize=$sanitizer -I"$WAYBILL_SOURCE/include" -o "$work/host" "$work/host.c" \
            -L. -lwaybill -Wl,-rpath,"$PWD" > "$work/log" 2>&1 || continue # not installed
        tried=$((tried + 1))
        got=$(timeout 60 "$work/host" "$work/ws" 2>&1) || true
        [ "$got" = "$receipt"$'\n'"$receipt" ] && continue
        echo "FAILED: a host of $compiler with -fsanitize=$sanitizer: $got"
        failed=1
    done
done
[ "$tried" -gt 0 ] || skip "sanitized hosts (no compiler here has a sanitizer)"
echo "$tried kinds of hosts ran commands"
exit $failed
