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
if [ $# -gt 0 ]; then
    exec cmake --build --preset "$preset" --target "$@"
fi
exec cmake --build --preset "$preset"
