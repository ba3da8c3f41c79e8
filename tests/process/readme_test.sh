#!/usr/bin/env bash
# Runs every command of README.md and builds its C++ example, in a folder that looks like a clone.
# usage: readme_test.sh SOURCE_DIR BIN_DIR
set -euo pipefail
source_dir=$(realpath "$1")
bin_dir=$(realpath "$2")
work=$(mktemp -d)
cleanup() {
  jobs -p | xargs -r kill 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

mkdir -p "$work/build/release"
ln -s "$bin_dir" "$work/build/release/bin"
cp "$source_dir/README.md" "$work/"
cd "$work"

# Prints what stands between ```LANGUAGE and ```, blocks one after the other.
blocks() {
  awk -v fence="\`\`\`$1" '$0 == fence {inside = 1; next} /^```/ {inside = 0} inside' README.md
}

# ./dev run has a test of its own, and ./dev test is what runs this one.
blocks sh | grep -v '^\./dev ' > commands.sh
if blocks sh | grep '^\./dev ' | grep -qvxE '\./dev (run|test)'; then
  echo "README.md names a ./dev command that no test runs"
  exit 1
fi
[ "$(wc -l < commands.sh)" -ge 8 ] || { echo "the commands of README.md were not found"; exit 1; }
echo "--- README.md's commands"
bash -euxo pipefail commands.sh

echo "--- README.md's C++ example"
blocks cpp > example.cpp
grep -q 'int main' example.cpp || { echo "the example of README.md was not found"; exit 1; }
mkdir client
cat > client/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(client CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(overlapd REQUIRED)
add_executable(example ../example.cpp)
target_link_libraries(example PRIVATE overlap::producer)
CMAKE
cmake --install "$bin_dir/.." --prefix "$work/prefix" > install.log
cmake -S client -B client/build -DCMAKE_PREFIX_PATH="$work/prefix" > configure.log ||
  { cat configure.log; exit 1; }
cmake --build client/build
export OVERLAPD_SOCKET=$work/overlapd.sock
"$bin_dir/overlapd" --log-level warning --socket "$OVERLAPD_SOCKET" &
daemon=$!
until "$bin_dir/overlapctl" status > /dev/null 2>&1; do
  kill -0 "$daemon" || { echo "overlapd has gone"; exit 1; }
  sleep 0.1
done
client/build/example
kill "$daemon"
wait "$daemon"
echo "every command of README.md ran"
