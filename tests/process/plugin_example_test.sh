#!/usr/bin/env bash
# Installs this build, builds the plug-in of tests/plugin_example against it, and has the installed
# daemon serve it. What comes back is judged by dd and od, which know nothing of overlapd.
# usage: plugin_example_test.sh SOURCE_DIR BIN_DIR [CMAKE_OPTION...]
set -euo pipefail
export LC_ALL=C
umask 022
source_dir=$(realpath "$1")
bin_dir=$(realpath "$2")
shift 2
work=$(mktemp -d)
daemon=
cleanup() {
  [ -z "$daemon" ] || kill "$daemon" 2> /dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
fail() {
  echo "plugin_example_test: $*" >&2
  exit 1
}

echo '--- install'
cmake --install "$bin_dir/.." --prefix "$work/prefix" > "$work/install.log"
prefix="$work/prefix"

echo '--- build out of tree'
cp -r "$source_dir/tests/plugin_example" "$work/example"
cmake -S "$work/example" -B "$work/example/build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$prefix" "$@" > "$work/configure.log" 2>&1 ||
  { cat "$work/configure.log"; fail 'the example cannot be configured'; }
cmake --build "$work/example/build" > "$work/build.log" 2>&1 ||
  { cat "$work/build.log"; fail 'the example cannot be built'; }
plugin="$work/example/build/byte_swap.so"
visible=$(nm --dynamic --defined-only "$plugin" | awk '{print $3}')
[ "$visible" = overlap_plugin_entry ] || fail "more is visible than the entry: $visible"

echo '--- serve'
export OVERLAPD_SOCKET="$work/overlapd.sock"
"$prefix/bin/overlapd" --socket "$OVERLAPD_SOCKET" --kernel-path "$work/example/build" \
  2> "$work/overlapd.log" &
daemon=$!
until "$prefix/bin/overlapctl" status > "$work/status" 2> /dev/null; do
  kill -0 "$daemon" 2> /dev/null || { cat "$work/overlapd.log"; fail 'overlapd has gone'; }
  sleep 0.05
done
grep -qF "plug-in $plugin (byte_swap 1.0): byte_swap" "$work/overlapd.log" ||
  { cat "$work/overlapd.log"; fail 'the log does not name the plug-in'; }
"$prefix/bin/overlapctl" kernels byte_swap | tee "$work/kernels"
grep -q '^    word  *choice  *4  *2 4 8  *length of a word$' "$work/kernels" ||
  fail 'the list does not show the parameter'

# swap WORD INPUT: through the daemon, into a file.
swap() {
  "$prefix/bin/overlap-send" --kernel "byte_swap:word=$1" --slot-bytes 64KiB --slots 4 \
    --input "$2" --output "$work/swapped" --quiet || fail "word=$1 cannot be sent"
}
head -c 1000008 /dev/urandom > "$work/input"
swap 2 "$work/input"
dd if="$work/input" of="$work/expected" conv=swab status=none
cmp "$work/expected" "$work/swapped"
for word in 4 8; do
  swap "$word" "$work/input"
  od -An -v -tx"$word" --endian=big "$work/input" > "$work/expected"
  od -An -v -tx"$word" --endian=little "$work/swapped" > "$work/actual"
  cmp "$work/expected" "$work/actual"
done

echo '--- refuse'
head -c 6 /dev/urandom > "$work/odd"
if "$prefix/bin/overlap-send" --kernel byte_swap --input "$work/odd" --output "$work/swapped" \
  2> "$work/errors"; then
  fail 'six bytes are no words of four, and nobody minded'
fi
grep -q 'size does not fit' "$work/errors" || { cat "$work/errors"; fail 'the refusal does not say why'; }

kill "$daemon"
wait "$daemon" || fail "overlapd ended with $?"
daemon=
echo 'the example was installed, built, loaded and right'
