#!/bin/sh
# Make the environment of a scorer whose package cannot live beside radrl.
#
#     tools/scorers/install.sh radgraph .venv-radgraph python3.11
#     tools/scorers/install.sh radeval .venv-radeval python3.11     3.11 or 3.12
#     tools/scorers/install.sh radmatch .venv-radmatch python3.11
#
# TORCH_INDEX is where torch comes from, as in the Makefile. Versions: the lock beside this script, named after
# the package; `uv pip compile` makes it from the .in file, which has the reasons.
set -eu
package=$1 folder=$2 python=$3
lock=$(dirname "$0")/$package.txt

"$python" -m venv --clear "$folder"
pip() { "$folder/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
if [ -n "${TORCH_INDEX:-}" ] && grep -q '^torch==' "$lock"; then
    pip install --no-deps --index-url "$TORCH_INDEX" --constraint "$lock" torch
fi
pip install --constraint "$lock" "$package"
# RadEval names torchvision but never imports it. transformers does, and fails where torch comes from elsewhere.
if [ "$package" = radeval ]; then
    pip uninstall --yes torchvision
fi
