#!/usr/bin/env bash
# Plants each violation alone in a small tree and expects check.sh to name it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failures=0

fresh_tree() {
  rm -rf "$root/tree"
  mkdir -p "$root"/tree/{shared,producer,kernels,daemon/device,tests/unit,tests/check}
  cp "$here/../../.clang-format" "$root/tree/"
  printf '#pragma once\n\nint answer();\n' > "$root/tree/shared/answer.hpp"
  printf '#include "shared/answer.hpp"\n\nint answer() { return 42; }\n' > "$root/tree/shared/answer.cpp"
  printf '#include "shared/answer.hpp"\n' > "$root/tree/tests/unit/answer_test.cpp"
  echo 'add_executable(unit_tests unit/answer_test.cpp)' > "$root/tree/tests/CMakeLists.txt"
}

# expect RULE FILE TEXT: with TEXT in FILE, check.sh fails and names both.
expect() {
  local rule="$1" file="$2" text="$3" said
  fresh_tree
  printf '%b' "$text" > "$root/tree/$file"
  if said=$(bash "$here/check.sh" "$root/tree" 2>&1); then
    echo "accepted: $rule ($file)"
    failures=$((failures + 1))
  elif ! grep -F -- "$rule" <<< "$said" | grep -qF -- "$file"; then
    printf 'not named: %s (%s) in:\n%s\n' "$rule" "$file" "$said"
    failures=$((failures + 1))
  fi
}

fresh_tree
if ! said=$(bash "$here/check.sh" "$root/tree" 2>&1); then
  printf 'refused a good tree:\n%s\n' "$said"
  failures=$((failures + 1))
fi

expect 'no CUDA header here' shared/device.cpp '#include <cuda_runtime.h>\n'
expect 'no CUDA header here' producer/device.cpp '#include <cuda.h>\n'
expect 'CUDA headers belong in' daemon/engine.cpp '#include <cuda_runtime_api.h>\n'
expect 'shared/ includes nothing but itself' shared/a.cpp '#include "kernels/kernel.hpp"\n'
expect 'shared/ does not log' shared/a.cpp '#include <spdlog/logger.h>\n'
expect 'kernels/ includes nothing but itself' kernels/a.cpp '#include "shared/answer.hpp"\n'
expect 'producer/ does not include the daemon' producer/a.cpp '#include "daemon/options.hpp"\n'
expect 'no test code here' daemon/a.cpp '#include "tests/unit/a.hpp"\n'
expect 'shares no code' tests/check/overlap_check.cpp '#include "shared/answer.hpp"\n'
expect 'no open ends' daemon/a.cpp '// TO''DO\n'
expect 'no open ends' daemon/a.cpp '// FIX''ME\n'
expect 'tabs' daemon/a.cpp '//\ta\n'
expect '#pragma once is missing' daemon/a.hpp 'int a();\n'
expect 'name the noun' daemon/string_util.cpp 'int a;\n'
expect 'name the noun' daemon/helpers.cpp 'int a;\n'
expect 'file names are snake_case' daemon/Engine.cpp 'int a;\n'
expect 'no source has the stem' tests/unit/question_test.cpp 'int a;\n'
expect 'no CMakeLists.txt names this test' tests/unit/question_test.cpp 'int a;\n'
if command -v clang-format > /dev/null && clang-format --version | grep -q 'version 14\.'; then
  expect 'not formatted' daemon/a.cpp 'int  a ;\n'
fi

((failures == 0)) || exit 1
echo 'every violation is found'
