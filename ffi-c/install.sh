#!/usr/bin/env bash
# Installs the C library, which was built before: headers, libraries, a pkg-config file and a CMake package.
#
#   ffi-c/install.sh PROFILE PREFIX      PROFILE is release or debug; DESTDIR is put before PREFIX
#
# For systems with ELF libraries. The version comes from Cargo.toml, the SONAME from the library (see build.rs).
set -euo pipefail
cd "$(dirname "$0")/.."
built="target/$1"
to="${DESTDIR:-}$2"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
soname=$(readelf -d "$built/libferromcp.so" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p')
# As `rustc --print native-static-libs` names them on Linux, without what every C program has.
static_libs="-lpthread -ldl -lm"

install -d "$to/include/ferromcp" "$to/lib/pkgconfig" "$to/lib/cmake/ferromcp"
install -m 644 ffi-c/include/ferromcp.h ffi-c/include/ferromcp.hpp "$to/include"
install -m 644 ffi-c/include/ferromcp/*.hpp "$to/include/ferromcp"
install -m 755 "$built/libferromcp.so" "$to/lib/libferromcp.so.$version"
ln -sf "libferromcp.so.$version" "$to/lib/$soname"
ln -sf "$soname" "$to/lib/libferromcp.so"
install -m 644 "$built/libferromcp.a" "$to/lib/libferromcp.a"

# fill TEMPLATE TARGET: the template with its values.
fill() {
    sed -e "s/@VERSION@/$version/g; s/@SONAME@/$soname/g; s/@STATIC_LIBS@/$static_libs/g" "$1" >"$2"
    chmod 644 "$2"
}
fill ffi-c/ferromcp.pc.in "$to/lib/pkgconfig/ferromcp.pc"
fill ffi-c/cmake/ferromcp-config.cmake.in "$to/lib/cmake/ferromcp/ferromcp-config.cmake"
fill ffi-c/cmake/ferromcp-config-version.cmake.in "$to/lib/cmake/ferromcp/ferromcp-config-version.cmake"
