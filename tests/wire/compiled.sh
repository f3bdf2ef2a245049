# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of this folder: TypeScript against the types of the providers' SDKs.

# Makes that folder, with the modules of the SDKs in it, and goes there.
types_in() { # folder; source_dir is set
    local modules
    modules=$(bash "$source_dir/tools/npm_modules.sh" types) || exit $?
    mkdir -p "$1" && cd "$1" || exit 1
    ln -sfn "$modules" node_modules
    echo '{"private": true, "type": "module"}' >package.json
}

compiles() {
    node_modules/.bin/tsc --noEmit --strict --skipLibCheck --target es2022 --module nodenext \
        --moduleResolution nodenext --types '' "$1"
}

# The first file compiles, and of refused.ts the compiler refuses so many lines, or that proves
# nothing.
hold_to_types() { # file, number, what
    local refused
    compiles "$1" || exit 1
    refused=$(compiles refused.ts | grep -c '^refused.ts.*error')
    if [ "$refused" -lt "$2" ]; then
        echo "the compiler refused $refused of $2 wrong shapes"
        exit 1
    fi
    echo "$3 have the types of the SDKs"
}
