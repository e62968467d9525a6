#!/usr/bin/env bash
# Builds and runs the C tests against the library in target/PROFILE (first argument, default debug).
#
# Needs cc alone; the C++ check, the symbol check and valgrind run when their tools are there, and say so when not.
set -euo pipefail
cd "$(dirname "$0")/../.."
profile=${1:-debug}
built="$PWD/target/$profile"
out="$PWD/target/c-tests/$profile"
header=ffi-c/include/ferromcp.h
warnings="-Wall -Wextra -Wpedantic -Werror"
passed=0 failed=0 skipped=0

# run NAME COMMAND...: one test, counted; its output is shown only when it fails.
run() {
    local name=$1 log="$out/log.txt"
    shift
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok    $name"
    else
        failed=$((failed + 1))
        echo "FAIL  $name: $*"
        sed 's/^/      /' "$log"
    fi
}

skip() {
    skipped=$((skipped + 1))
    echo "skip  $1: $2"
}

have() { command -v "$1" >/dev/null; }

mkdir -p "$out/lib"

# The name that programs look for at run time; written by ffi-c/build.rs. The build tree has only the bare name, so a link
# beside the programs stands in for the installed file.
library="$built/libferromcp.so"
if have readelf; then
    soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p')
    version=$(sed -n 's/^#define FMCP_VERSION_MAJOR //p; s/^#define FMCP_VERSION_MINOR //p' $header | paste -sd.)
    run "SONAME follows the version" test "$soname" = "libferromcp.so.$(sed 's/^\([1-9][0-9]*\)\..*/\1/' <<<"$version")"
    ln -sf "$library" "$out/lib/$soname"
fi
ln -sf "$library" "$out/lib/libferromcp.so"

if have nm; then
    # Whatever the header names as a function, in a declaration or in its opening prose.
    declared=$(grep -v '^ *//' $header | sed -n 's/.*[ *]\(fmcp_[a-z0-9_]*\)(.*/\1/p' | sort -u)
    exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort)
    run "exported symbols are those of the header" diff <(echo "$declared") <(echo "$exported")
else
    skip "exported symbols are those of the header" "no nm"
fi

# The header alone, in each language that it promises.
include=$(printf '#include "ferromcp.h"\n#include "ferromcp.h"\nint main(void) { return fmcp_version() == 0; }\n')
for standard in c99 c11 c17; do
    run "header as $standard" cc -std=$standard $warnings -Iffi-c/include -fsyntax-only -x c - <<<"$include"
done
if have c++; then
    for standard in c++11 c++17 c++20; do
        run "header as $standard" c++ -std=$standard $warnings -Iffi-c/include -fsyntax-only -x c++ - <<<"$include"
    done
else
    skip "header as C++" "no c++"
fi

# The programs, against the shared library and against the static one.
for source in ffi-c/tests/c/*.c; do
    name=$(basename "$source" .c)
    compile="cc -std=c99 -D_POSIX_C_SOURCE=200809L $warnings -g -Iffi-c/include $source"
    run "compile $name (shared)" $compile -o "$out/$name" -L"$out/lib" -lferromcp -Wl,-rpath,"$out/lib" -lpthread
    run "$name (shared)" "$out/$name"
    run "compile $name (static)" $compile -o "$out/$name-static" "$built/libferromcp.a" -lpthread -ldl -lm
    run "$name (static)" "$out/$name-static"
    if have valgrind; then
        run "$name (valgrind)" valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=all \
            --errors-for-leak-kinds=all "$out/$name"
    else
        skip "$name (valgrind)" "valgrind is not installed"
    fi
done

echo "c: $passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
