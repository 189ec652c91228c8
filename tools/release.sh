#!/usr/bin/env bash
# Build dist/*.whl and dist/*.tar.gz, and try the wheel in a clean environment: version, training, evaluation, prediction.
#   tools/release.sh [PYTHON]    a Python with the package `build`
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(command -v "${1:-python3}")
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT

rm -rf dist
"$python" -m build
"$python" -m venv "$clean"
"$clean/bin/python" -m pip install --quiet --disable-pip-version-check dist/*.whl -c constraints.txt

version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' src/saccade/__init__.py)
cd "$clean" # so that the wheel is imported, not the source
export PATH="$clean/bin:$PATH" PYTHONPATH=
saccade --version | grep --fixed-strings "$version"
saccade train english-french --out run --set train.steps=3 --set data.size=200 --set data.held_out=20 --set data.cache=cache
saccade evaluate run
saccade predict run "the old woman gives a red apple ."
