#!/usr/bin/env bash
# The rules of the house that a machine can see. Usage: check.sh REPOSITORY
# Prints one line for each violation; exits 1 if there is any.
set -euo pipefail
cd "${1:?usage: check.sh REPOSITORY}"

violations=0
violation() {
  printf 'policy: %s\n' "$1"
  violations=$((violations + 1))
}

# Every file of ours, whether committed yet or not; what is built lies in build/.
readarray -t files < <(find . -type d \( -name build -o -name .git -o -name .cache \) -prune -o \
  -type f -printf '%P\n' | LC_ALL=C sort)
sources=()
for file in "${files[@]}"; do
  case "$file" in
    *.cpp | *.hpp | *.h | *.cu | *.cuh) sources+=("$file") ;;
  esac
done

# no_match RULE PATTERN FILE...: the pattern is in none of these files.
no_match() {
  local rule="$1" pattern="$2" line
  shift 2
  (($# > 0)) || return 0
  while IFS= read -r line; do
    violation "$rule: $line"
  done < <(grep -HnE -- "$pattern" "$@" || true)
}

# in_folder FOLDER...: the sources there, in the array `found`.
in_folder() {
  local file folder
  found=()
  for file in "${sources[@]}"; do
    for folder in "$@"; do
      [[ $file == "$folder"/* ]] && found+=("$file")
    done
  done
  return 0
}

# --- layers: what a folder may include
cuda='^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](cuda|cub/|nvtx|nvrtc|thrust/)'
in_folder shared producer
no_match 'no CUDA header here' "$cuda" "${found[@]}"
in_folder daemon
outside=()
for file in "${found[@]}"; do
  [[ $file == daemon/device/* ]] || outside+=("$file")
done
no_match 'CUDA headers belong in kernels/ and daemon/device/' "$cuda" "${outside[@]}"
in_folder shared
no_match 'shared/ includes nothing but itself' '#include "(producer|kernels|daemon|tests)/' "${found[@]}"
no_match 'shared/ does not log' '#include <spdlog/' "${found[@]}"
in_folder kernels
no_match 'kernels/ includes nothing but itself' '#include "(shared|producer|daemon|tests)/' "${found[@]}"
in_folder producer
no_match 'producer/ does not include the daemon' '#include "(daemon|tests)/' "${found[@]}"
in_folder daemon
no_match 'no test code here' '#include "tests/' "${found[@]}"
if [[ -f tests/check/overlap_check.cpp ]]; then
  no_match 'overlap-check shares no code with what it judges' '#include "' tests/check/overlap_check.cpp
fi

# --- tests: one that no CMakeLists.txt names never runs
for file in "${files[@]}"; do
  case "$file" in
    tests/*/*_test.cpp | tests/*/*_test.sh)
      grep -qF "$(basename "$(dirname "$file")")/$(basename "$file")" tests/CMakeLists.txt ||
        violation "no CMakeLists.txt names this test: $file"
      ;;
  esac
done

# --- text
no_match 'no open ends' '\b(TO''DO|FIX''ME|X''XX)\b' "${sources[@]}"
no_match 'tabs' $'\t' "${sources[@]}"
for file in "${sources[@]}"; do
  case "$file" in
    *.hpp | *.cuh)
      grep -qx '#pragma once' "$file" || violation "#pragma once is missing: $file"
      ;;
  esac
done

# --- names
for file in "${files[@]}"; do
  stem=${file##*/}
  stem=${stem%%.*}
  if [[ $stem =~ (^|[_-])(util|utils|common|helper|helpers|manager|misc)($|[_-]) ]]; then
    violation "name the noun: $file"
  fi
done
for file in "${sources[@]}"; do
  stem=${file##*/}
  stem=${stem%.*}
  [[ $stem =~ ^[a-z][a-z0-9_]*$ ]] || violation "file names are snake_case: $file"
  if [[ $file == tests/unit/*_test.cpp ]]; then
    subject=${stem%_test}
    match=
    for other in "${sources[@]}"; do
      other_stem=${other##*/}
      # engine_overlap_test.cpp is about one side of engine.cpp.
      if [[ $other != tests/unit/* && ${subject}_ == "${other_stem%.*}"_* ]]; then
        match=$other
      fi
    done
    [[ -n $match ]] || violation "no source has the stem of this test: $file"
  fi
done

# --- format
if command -v clang-format > /dev/null && clang-format --version | grep -q 'version 14\.'; then
  while IFS= read -r file; do
    violation "not formatted, run ./dev format: $file"
  done < <(printf '%s\0' "${sources[@]}" |
    xargs -0 -P "$(nproc)" -n 32 clang-format --style=file --dry-run -Werror 2>&1 |
    sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error: .*/\1/p' | LC_ALL=C sort -u)
else
  echo 'policy: formatting is not checked: there is no clang-format 14'
fi

if ((violations > 0)); then
  printf 'policy: %d violations\n' "$violations"
  exit 1
fi
printf 'policy: %d files are as they should be\n' "${#files[@]}"
