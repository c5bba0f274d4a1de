#!/usr/bin/env bash
# Installs what pk needs on Debian 12 or a recent Ubuntu. Does nothing where everything is there. Sourced by the other
# scripts; can be run alone.
set -euo pipefail

packages=(build-essential cmake ninja-build ccache lld antlr4 libantlr4-runtime-dev libfmt-dev catch2 libcli11-dev
  nlohmann-json3-dev python3)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  echo "pk: installing ${missing[*]}"
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
