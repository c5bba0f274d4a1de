#!/usr/bin/env bash
# Sets up a fresh Debian 12 or Ubuntu machine, builds the compiler, and runs the GEMM example on the CPU.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
cmake --preset default -DPK_TESTS=OFF >/dev/null
cmake --build --preset default --target pkc

echo
echo "\$ build/bin/pkc check examples/gemm.pk"
build/bin/pkc check examples/gemm.pk
echo "\$ build/bin/pkc test examples/gemm.pk"
build/bin/pkc test examples/gemm.pk
