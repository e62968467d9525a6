#!/usr/bin/env bash
# Sees that the system has what the build and the tests call, and installs what is missing where it may (root on Debian).
#
# Elsewhere it says what to install: it ends with 1 when something indispensable is missing, and with 0 when a test will
# only be skipped.
set -euo pipefail

# What is looked for, the Debian package that brings it, and what it is for.
needed=() wanted=()
have() { command -v "$1" >/dev/null 2>&1; }
have cargo || needed+=("cargo:a Rust toolchain (1.88 or newer; see rust-version in Cargo.toml)")
have cc || needed+=("gcc:a C compiler")
have node || needed+=("nodejs:Node 20 or newer")
have npm || needed+=("npm:Node's package manager")
"${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    needed+=("python3:CPython 3.10 or newer")
"${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null || needed+=("python3-venv:Python virtual environments")
have valgrind || wanted+=("valgrind:memory checks of the C tests")
have c++ || wanted+=("g++:the C header's check as C++")

missing=("${needed[@]}" "${wanted[@]}")
[ ${#missing[@]} = 0 ] && exit 0

if [ "$(id -u)" = 0 ] && have apt-get; then
    echo "installing: ${missing[*]%%:*}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]%%:*}" >/dev/null
    exit 0
fi

for row in "${wanted[@]}"; do
    echo "not installed, so its tests are skipped: ${row#*:} (Debian package ${row%%:*})"
done
for row in "${needed[@]}"; do
    echo "please install ${row#*:} (Debian package ${row%%:*})"
done
[ ${#needed[@]} = 0 ]
