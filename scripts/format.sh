#!/usr/bin/env bash
# Formats pk's own C++ with clang-format; `--check` only tells what would change and fails if anything would.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-format >/dev/null || { apt-get install -y -qq --no-install-recommends clang-format >/dev/null; }
mode=(-i)
if [ "${1:-}" = --check ]; then
  mode=(--dry-run -Werror)
fi
git ls-files '*.cpp' '*.h' | xargs clang-format "${mode[@]}"
