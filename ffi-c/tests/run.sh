#!/usr/bin/env bash
# Builds and runs the C and C++ tests against the library in target/PROFILE (first argument, default debug).
#
# Needs cc alone; what needs more runs when its tools are there, and says so when not.
#   PYTHON   a Python with pytest, for the vectors and the example servers
set -euo pipefail
# One order of sorting for all tools.
export LC_ALL=C
cd "$(dirname "$0")/../.."
profile=${1:-debug}
built="$PWD/target/$profile"
out="$PWD/target/c-tests/$profile"
installed="$out/installed"
header=ffi-c/include/ferromcp.h
warnings="-Wall -Wextra -Wpedantic -Werror"
c="cc -std=c99 -D_POSIX_C_SOURCE=200809L $warnings -g -Iffi-c/include -Iffi-c/tests/c"
cpp="c++ -std=c++17 $warnings -g -Iffi-c/include -Iffi-c/tests/c"
sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
valgrind="valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all
    --num-callers=80 --suppressions=ffi-c/tests/valgrind.supp"
# A program that hangs must not take the run with it; each takes seconds.
bounded="timeout 120"
passed=0 failed=0 skipped=0

# run NAME COMMAND...: one test, counted; the end of its output is shown when it fails.
run() {
    local name=$1 log="$out/log.txt"
    shift
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok    $name"
    else
        failed=$((failed + 1))
        echo "FAIL  $name: $*"
        tail -n 60 "$log" | sed 's/^/      /'
    fi
}

skip() {
    skipped=$((skipped + 1))
    echo "skip  $1: $2"
}

have() { command -v "$1" >/dev/null; }

# must_fail TEXT COMMAND...: the command fails, and says this.
must_fail() {
    local text=$1 said
    shift
    if said=$("$@" 2>&1); then
        echo "it passes"
        return 1
    fi
    grep -q "$text" <<<"$said" || { echo "$said"; return 1; }
}

mkdir -p "$out"

# --- The header and the symbols ---------------------------------------------------------------------------------------

# Alone, twice, in each language that it promises.
include=$(printf '#include "ferromcp.h"\n#include "ferromcp.h"\nint main(void) { return fmcp_version() == 0; }\n')
for standard in c99 c11 c17; do
    run "header as $standard" cc -std=$standard $warnings -Iffi-c/include -fsyntax-only -x c - <<<"$include"
done
if have c++; then
    for standard in c++11 c++17 c++20; do
        run "header as $standard" c++ -std=$standard $warnings -Iffi-c/include -fsyntax-only -x c++ - <<<"$include"
    done
    for standard in c++17 c++20; do
        run "ferromcp.hpp as $standard" c++ -std=$standard $warnings -Iffi-c/include -fsyntax-only -x c++ - \
            <<<"${include//ferromcp.h/ferromcp.hpp}"
    done
else
    skip "headers as C++" "no c++"
fi

# Whatever the header names as a function in a declaration; and each has a comment that ends in the line above it.
declared=$(grep -v '^ *//\|^ \*' $header | sed -n 's/^[a-z].*[ *]\(fmcp_[a-z0-9_]*\)(.*/\1/p' | sort -u)
run "the header declares what the symbol list has" diff <(echo "$declared") ffi-c/symbols.txt
undocumented=$(awk '/^[a-z].*[ *]fmcp_[a-z0-9_]*\(/ && before !~ /^\/\// { print } { before = $0 }' $header)
run "every export is documented" test -z "$undocumented"
if have nm; then
    run "the library exports what the symbol list has" \
        diff ffi-c/symbols.txt <(nm -D --defined-only "$built/libferromcp.so" | awk '{print $3}' | sort)
else
    skip "the library exports what the symbol list has" "no nm"
fi
run "every export is tried with NULL" diff ffi-c/symbols.txt <(grep -o 'fmcp_[a-z0-9_]*(' ffi-c/tests/c/nulls.c | tr -d '(' | sort -u)

# --- The installed tree -----------------------------------------------------------------------------------------------

rm -rf "$installed"
run "install" ffi-c/install.sh "$profile" "$installed"
version=$(sed -n 's/^#define FMCP_VERSION "\(.*\)"/\1/p' $header)
abi=$(sed 's/^\([1-9][0-9]*\)\..*/\1/; s/^\(0\.[0-9]*\)\..*/\1/' <<<"$version")
run "SONAME follows the version" test -e "$installed/lib/libferromcp.so.$abi"
run "one version everywhere" grep -qx "Version: $version" "$installed/lib/pkgconfig/ferromcp.pc"
link="-L$installed/lib -lferromcp -Wl,-rpath,$installed/lib -lpthread"
static="$installed/lib/libferromcp.a -lpthread -ldl -lm"

# --- The programs: shared, static, with sanitizers, under valgrind ------------------------------------------------------

# Sees that a build with sanitizers has them.
run "compile sanitizer" $c $sanitize ffi-c/tests/sanitizer.c -o "$out/sanitizer"
run "AddressSanitizer is on" must_fail heap-buffer-overflow "$out/sanitizer" a
run "UndefinedBehaviorSanitizer is on" must_fail "signed integer overflow" "$out/sanitizer" u

# try NAME COMPILER SOURCE: a test program in each way.
try() {
    local name=$1 compiler=$2 source=$3
    run "compile $name" $compiler "$source" -o "$out/$name" $link
    run "$name" $bounded "$out/$name"
    run "compile $name (sanitizers)" $compiler $sanitize "$source" -o "$out/$name-san" $link
    run "$name (sanitizers)" $bounded "$out/$name-san"
    if have valgrind; then
        run "$name (valgrind)" $bounded $valgrind "$out/$name"
    else
        skip "$name (valgrind)" "valgrind is not installed"
    fi
}

for source in ffi-c/tests/c/*.c; do
    name=$(basename "$source" .c)
    case $name in
    panic) # Of the build that has an export which panics. What the panic says on stderr is not looked at.
        run "compile panic" $c "$source" -o "$out/panic" "$built/examples/libferromcp_panics.so" -Wl,-rpath,"$built/examples"
        run "panic" "$out/panic"
        ;;
    fork) # Says itself why it is for neither of the other ways.
        run "compile fork" $c "$source" -o "$out/fork" $link
        run "fork" $bounded "$out/fork"
        ;;
    *) try "$name" "$c" "$source" ;;
    esac
done
for name in server later tasks; do
    run "compile $name (static)" $c "ffi-c/tests/c/$name.c" -o "$out/$name-static" $static
    run "$name (static)" "$out/$name-static"
done
if have c++; then
    for source in ffi-c/tests/cpp/*.cpp; do
        try "cpp_$(basename "$source" .cpp)" "$cpp" "$source"
    done
else
    skip "the C++ tests" "no c++"
fi

# --- Programs of other people's, on the installed tree ------------------------------------------------------------------

mkdir -p "$out/examples"
# These with sanitizers, those of CMake without.
if have pkg-config && have c++; then
    flags=$(PKG_CONFIG_PATH="$installed/lib/pkgconfig" pkg-config --cflags --libs ferromcp)
    rpath="-Wl,-rpath,$installed/lib"
    for name in server own_loop tasks; do
        run "C example $name (pkg-config)" cc -std=c99 -D_POSIX_C_SOURCE=200809L $warnings -g $sanitize "examples/c/$name.c" \
            -o "$out/examples/c_$name" $flags $rpath
        run "C++ example $name (pkg-config)" c++ -std=c++17 $warnings -g $sanitize "examples/cpp/$name.cpp" \
            -o "$out/examples/cpp_$name" $flags $rpath -lpthread
    done
    flags=$(PKG_CONFIG_PATH="$installed/lib/pkgconfig" pkg-config --static --cflags --libs ferromcp)
    run "pkg-config says what a static link needs" grep -q -- "-ldl" <<<"$flags"
else
    skip "examples (pkg-config)" "no pkg-config or no c++"
fi
if have cmake; then
    rm -rf "$out/outside"
    outside() {
        cmake -S ffi-c/tests/outside -B "$out/outside" -DCMAKE_PREFIX_PATH="$installed" -DEXAMPLES="$PWD/examples" \
            -DWANTED_VERSION="$1"
    }
    run "CMake project finds the package" outside "$abi"
    run "CMake project builds" cmake --build "$out/outside"
    rm -rf "$out/outside-later"
    run "CMake project refuses another version" must_fail "compatible with" cmake -S ffi-c/tests/outside \
        -B "$out/outside-later" -DCMAKE_PREFIX_PATH="$installed" -DEXAMPLES="$PWD/examples" -DWANTED_VERSION=99.0
else
    skip "CMake project" "no cmake"
fi

# --- What a client sees -------------------------------------------------------------------------------------------------

for program in driver listener; do
    run "compile the $program of vectors" $c ffi-c/tests/vectors/$program.c -o "$out/$program" $link
    run "compile the $program of vectors (sanitizers)" $c $sanitize ffi-c/tests/vectors/$program.c -o "$out/$program-san" $link
done
if "${PYTHON:-python3}" -c 'import pytest' 2>/dev/null; then
    pytest="${PYTHON:-python3} -m pytest -q --tb=short -p no:cacheprovider"
    run "vectors (sanitizers)" env FERROMCP_C_LISTENER="$out/listener-san" FERROMCP_C_DRIVER="$out/driver-san" \
        $pytest ffi-c/tests/vectors
    # Once is enough for what is slow: the pieces end in the same calls.
    if have valgrind; then
        run "vectors (valgrind)" env FERROMCP_C_LISTENER="${valgrind//$'\n'/ } $out/listener" \
            FERROMCP_C_DRIVER="${valgrind//$'\n'/ } $out/driver" $pytest ffi-c/tests/vectors -k "whole or http"
    else
        run "vectors" env FERROMCP_C_LISTENER="$out/listener" FERROMCP_C_DRIVER="$out/driver" \
            $pytest ffi-c/tests/vectors -k "whole or http"
    fi
    run "example servers" env FERROMCP_C_BUILT="$out" $pytest ffi-c/tests/examples
else
    skip "vectors and example servers" "no Python with pytest in PYTHON"
fi

echo "c: $passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
