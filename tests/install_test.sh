#!/bin/bash
# What `make install PREFIX=…` leaves is found by pkg-config and CMake under that prefix and
# is enough for a program outside the tree; man pages and completion are there.
set -eu
skip() {
    echo "skipped: $*"
    exit 0
}
for tool in cmake ninja cc pkg-config readelf; do
    command -v $tool > /dev/null 2>&1 || skip "installing ($tool is not installed)"
done
grep -q '^WAYBILL_SANITIZE:STRING=.' CMakeCache.txt && skip "installing (a sanitizer's library needs it in every program)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/any prefix"
fail() {
    echo "FAILED: $*"
    exit 1
}

cmake --install . --prefix "$prefix" > "$work/log" 2>&1 || {
    cat "$work/log"
    fail "cmake --install"
}
pc=$(find "$prefix" -name waybill.pc)
export PKG_CONFIG_PATH="${pc%/*}"
[ "$(pkg-config --modversion waybill)" = "$("$prefix/bin/waybill" --version | sed 's/^waybill //; s/ .*//')" ] ||
    fail "pkg-config and waybill --version differ"

cat > "$work/out.c" <<'C'
#include <stdio.h>
#include <waybill/waybill.h>

static void answer(wb_tool_call *call, void *arg)
{
    (void)arg;
    wb_tool_finish_json(call, "{\"answer\":42}", 13);
}

static void print(wb_result *result, void *arg)
{
    (void)arg;
    puts(wb_result_ok(result) ? "ok" : "not ok");
}

int main(void)
{
    wb_options *options = wb_options_new();
    wb_request *request = wb_request_new("ask");
    wb_runtime *runtime;

    if (wb_options_set(options, WB_OPT_BARE, "1") != WB_OK ||
        wb_runtime_new(options, &runtime, NULL) != WB_OK ||
        wb_tool_register(runtime, "{\"name\":\"ask\",\"effect\":\"Pure\"}", NULL, answer, NULL, NULL, NULL) != WB_OK ||
        wb_call_submit(runtime, request, print, NULL, NULL) != WB_OK)
        return 1;
    wb_runtime_run(runtime);
    wb_request_free(request);
    wb_runtime_free(runtime);
    wb_options_free(options);
    return 0;
}
C
eval "cc -Wall -Werror -o '$work/out' '$work/out.c' $(pkg-config --cflags --libs waybill)" || fail "a program by pkg-config"
libdir=${pc%/pkgconfig/*}
[ "$(LD_LIBRARY_PATH="$libdir" "$work/out")" = ok ] || fail "the program outside the tree"

# By the CMake package, which two parts of one project may both look for.
mkdir "$work/project"
cat > "$work/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(outside C)
find_package(waybill 0.1 REQUIRED)
find_package(waybill 0.1 REQUIRED)
add_executable(shared ../out.c)
target_link_libraries(shared waybill::waybill)
add_executable(static ../out.c)
target_link_libraries(static waybill::static)
CMAKE
{ cmake -G Ninja -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$prefix" &&
    cmake --build "$work/project/build"; } > "$work/log" 2>&1 || {
    cat "$work/log"
    fail "a program by the CMake package"
}
for program in shared static; do
    [ "$("$work/project/build/$program")" = ok ] || fail "the $program program of the CMake package"
done
readelf -d "$work/project/build/static" | grep -q libwaybill && fail "waybill::static is the shared library"

grep -rIlF "$PWD" "$prefix" && fail "an installed file names the build folder"
for page in man1/waybill.1 man3/waybill.3 man5/waybill-config.5; do
    [ -s "$prefix/share/man/$page" ] || fail "$page is not installed"
done
bash -n "$prefix/share/bash-completion/completions/waybill" || fail "bash completion"
[ -s "$prefix/share/zsh/site-functions/_waybill" ] || fail "zsh completion"

# For a package: under DESTDIR the same files, which know nothing of it.
DESTDIR="$work/stage" cmake --install . --prefix /usr > "$work/log" 2>&1 || fail "cmake --install with DESTDIR"
diff <(cd "$prefix" && find . -type f | sort) <(cd "$work/stage/usr" && find . -type f | sort) ||
    fail "DESTDIR does not get what a prefix gets"
grep -rIlF "$work" "$work/stage" && fail "an installed file names DESTDIR"
grep -qF -- '--install build/release --prefix "/opt/way bill"' \
    <(make -C "$WAYBILL_SOURCE" -n install PREFIX="/opt/way bill") || fail "make install PREFIX=…"
echo "installed, found and used under $prefix"
