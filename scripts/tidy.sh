#!/usr/bin/env bash
# Runs clang-tidy over pk's own sources (or the files given), with the compile commands of build/.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-tidy >/dev/null || { apt-get install -y -qq --no-install-recommends clang-tidy >/dev/null; }
if [ "$#" -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(git ls-files 'frontend/*.cpp' 'sema/*.cpp' 'runtime/*.cpp' 'stdlib/*.cpp' 'tools/*.cpp')
fi
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy -p build --quiet
