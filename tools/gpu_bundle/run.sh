#!/usr/bin/env bash
# Unpacks what lies beside it and runs bench/gpu_check; asks nothing of a network.
#
#     tar xf radrl-gpu.tar && radrl-gpu/run.sh                # 25 minutes on a GPU; the page is radrl-gpu/gpu.md
#     PYTHON=/opt/conda/bin/python radrl-gpu/run.sh --only exactness
#
# PYTHON needs torch and transformers; all else is here. What it is given goes to bench/gpu_check.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}
wanted=$(cat "$here/PYTHON_VERSION")
has=$("$python" -c 'import sys; print("{}.{}".format(*sys.version_info))')
if [[ $has != "$wanted" ]]; then
    echo "$python is Python $has, and this bundle was made for $wanted: name one by PYTHON=, or make a bundle with" >&2
    echo "python tools/gpu_bundle --python $has" >&2
    exit 2
fi
unpacked=${UNPACK:-$here/unpacked}
if [[ ! -f $unpacked/whole ]]; then
    mkdir -p "$unpacked"
    # Python's own reader of xz, since a plain image may have no program for it
    "$python" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2], filter="data")' \
        "$here/content.tar.xz" "$unpacked"
    touch "$unpacked/whole"
fi
export PYTHONPATH=$unpacked/site-packages:$unpacked/radrl/src PYTHONNOUSERSITE=1
exec "$python" "$unpacked/radrl/bench/gpu_check" --out "$here/gpu.md" --json "$here/gpu_check.json" "$@"
