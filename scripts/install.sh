#!/usr/bin/env bash
# Install every part of this repository, in place, from the lock alone.
#
#     scripts/install.sh VENV [PYTHON]
#
# VENV is made if it is missing. What others wrote comes from requirements.lock, with its hash;
# what is ours comes from here. No index is asked for anything that the lock does not name.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
[ -x "$venv/bin/python" ] || "${2:-python3}" -m venv "$venv"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check "$@"; }

# First what builds the rest: an entry of the lock ends at the first line that no \ continues.
tools=$(mktemp)
trap 'rm -f "$tools"' EXIT
sed -n -e '/^pip==/,/[^\\]$/p' -e '/^setuptools==/,/[^\\]$/p' requirements.lock > "$tools"
pip install --quiet --require-hashes --requirement "$tools"
pip install --quiet --require-hashes --no-build-isolation --requirement requirements.lock

parts=()
for project in pyproject.toml */pyproject.toml; do parts+=(--editable "./$(dirname "$project")"); done
pip install --quiet --no-deps --no-build-isolation "${parts[@]}"
