#!/usr/bin/env bash
# Runs `./dev run` as a user would: with files of every awkward length, with a wrong byte planted, and
# with what is no file. The release build must be up to date, for that is what it uses.
# usage: dev_run_test.sh SOURCE_DIR
set -euo pipefail
source_dir=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OVERLAP_SKIP_PACKAGES=1
unset OVERLAP_PLANT_WRONG_BYTE

# complain WHAT: with what the last run said.
complain() {
  echo "dev_run_test: $*"
  cat "$work/output" "$work/errors"
  exit 1
}

# passes NAME BYTES [ARGUMENT]: the run is right, and its table says so of as many bytes.
passes() {
  local name="$1" bytes="$2"
  shift 2
  echo "--- $name"
  "$source_dir/dev" run "$@" > "$work/output" 2> "$work/errors" || complain "$name: exit code $?"
  grep -q '^backend: \(cuda\|host\)' "$work/output" || complain "$name: no backend is named"
  [ "$(grep -cE ' (copy|scale:a=2,b=1,type=u8|vector_add) .* yes$' "$work/output")" -eq 3 ] ||
    complain "$name: not three producers are verified"
  [ "$(grep -E ' (copy|scale:a=2,b=1,type=u8) ' "$work/output" | grep -cw -- "$bytes")" -eq 2 ] ||
    complain "$name: the table does not have $bytes bytes"
}

# fails NAME WORD [ARGUMENT]: the run ends with another code than 0 and says the word.
fails() {
  local name="$1" word="$2"
  shift 2
  echo "--- $name"
  if "$source_dir/dev" run "$@" > "$work/output" 2> "$work/errors"; then
    complain "$name: exit code 0"
  fi
  grep -qF -- "$word" "$work/output" "$work/errors" || complain "$name: does not say '$word'"
}

cd "$work"
passes 'no file' "$(stat -Lc %s "$source_dir/build/release/bin/overlapd")"
for bytes in 0 1 3 1048577; do
  head -c "$bytes" /dev/urandom > "file of $bytes"
  passes "a file of $bytes bytes" "$bytes" "file of $bytes"
done
passes 'an absolute path' 3 "$work/file of 3"
(export OVERLAP_PLANT_WRONG_BYTE=1 && fails 'a planted wrong byte' 'not everything is right')
grep -q ' vector_add .* NO$' "$work/output" || complain 'the wrong byte is not in the table'
fails 'a file that is not there' "$work/nothing is not a file" nothing
fails 'a folder' "$work is not a file" "$work"
fails 'two files' 'takes one file' 'file of 1' 'file of 3'
echo './dev run does what it says'
