#!/usr/bin/env bash
# Builds pk and passes all tests: the whole suite, then the tests under ASan and UBSan.
#   scripts/test.sh            everything
#   scripts/test.sh --quick    without the sanitizer build
set -euo pipefail
cd "$(dirname "$0")/.."

quick=0
for argument in "$@"; do
  case "$argument" in
    --quick) quick=1 ;;
    *) echo "usage: scripts/test.sh [--quick]" >&2; exit 2 ;;
  esac
done

scripts/setup.sh
cmake --preset ci -DPK_TESTS=ON >/dev/null
cmake --build --preset ci
ctest --test-dir build --output-on-failure --no-tests=error -j "$(nproc)"

if [ "$quick" = 0 ]; then
  cmake --preset sanitize -DPK_TESTS=ON >/dev/null
  cmake --build --preset sanitize
  ctest --test-dir build-sanitize --output-on-failure --no-tests=error -j "$(nproc)" -LE slow
fi
