#!/bin/sh
# Configure (once) and build a preset: tools/build.sh PRESET [TARGET…]
set -eu
preset=$1
shift
if [ ! -f "build/$preset/build.ninja" ]; then
    mkdir -p build
    cmake --preset "$preset" > "build/$preset.configure.log" 2>&1 || {
        cat "build/$preset.configure.log"
        exit 1
    }
fi
[ $# -eq 0 ] || set -- --target "$@"
if [ ! -t 1 ]; then # a line a file is progress, which is for terminals
    echo "building $preset"
    set -- "$@" -- --quiet
fi
exec cmake --build --preset "$preset" "$@"
