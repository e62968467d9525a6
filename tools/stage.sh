#!/usr/bin/env bash
# Runs make targets one after the other, goes on when one fails, and ends with a table of what each cost.
#
#   tools/stage.sh NAME TARGET...
#
# NAME stands before the closing line, "NAME: N passed, N failed". The exit code is 1 when a target failed.
set -uo pipefail

name=$1
shift
make=${MAKE:-make}
rows=() passed=0 failed=0
began=$(date +%s.%N)

seconds_since() { awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }'; }

for target in "$@"; do
    printf '\n=== %s\n' "$target"
    start=$(date +%s.%N)
    if "$make" --no-print-directory "$target"; then
        result=ok passed=$((passed + 1))
    else
        result=FAILED failed=$((failed + 1))
    fi
    rows+=("$(printf '%-24s %-7s %8s s' "$target" "$result" "$(seconds_since "$start")")")
done

printf '\n'
printf '%s\n' "${rows[@]}" "$(printf '%-24s %-7s %8s s' "all of $name" "" "$(seconds_since "$began")")"
printf '\n%s: %d passed, %d failed\n' "$name" "$passed" "$failed"
[ "$failed" = 0 ]
