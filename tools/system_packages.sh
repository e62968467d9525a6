#!/usr/bin/env bash
# Sees that the system has what the build and the tests call, and installs what is missing where it may (root on Debian).
#
# Toolchains are never installed from here: a distribution's Rust and Node are mostly too old. Ends with 1 when something
# indispensable is missing, and with 0 when a test will only be skipped.
set -euo pipefail

have() { command -v "$1" >/dev/null 2>&1; }
python=${PYTHON:-python3}

# What has to be there already.
problems=()
have cargo || problems+=("cargo, of Rust 1.89 or newer (rust-version in Cargo.toml)")
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || problems+=("$python, 3.10 or newer")
node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || problems+=("node, 20 or newer")
have npm || problems+=("npm")
if [ ${#problems[@]} != 0 ]; then
    printf 'please install %s\n' "${problems[@]}"
    exit 1
fi

# Debian package, and what it is for. The first list is indispensable.
needed=() wanted=()
have cc || needed+=("gcc:the C compiler, which also links Rust programs")
have c++ || needed+=("g++:the C++ layer over the C library, and a server of the black-box tests")
"$python" -c 'import ensurepip, venv' 2>/dev/null || needed+=("python3-venv:Python environments")
have redis-server || have valkey-server || needed+=("redis-server:the tests of the store of tasks on a server")
have nginx || [ -x /usr/sbin/nginx ] || wanted+=("nginx:the tests of servers behind a proxy")
if [ "${1:-}" = bench-http ] && ! have wrk; then needed+=("wrk:the load of the measurements over HTTP"); fi
have valgrind || wanted+=("valgrind:memory checks of the C tests")
have cmake || wanted+=("cmake:the test of the installed CMake package")
have pkg-config || wanted+=("pkg-config:the test of the installed pkg-config file")
missing=("${needed[@]}" "${wanted[@]}")
[ ${#missing[@]} = 0 ] && exit 0

if [ "$(id -u)" = 0 ] && have apt-get; then
    echo "installing ${missing[*]%%:*}"
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
