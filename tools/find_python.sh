#!/bin/sh
# Print "VERSION PATH" of the Python that the environment is made with, or say what is missing.
#
#     tools/find_python.sh              the first suitable one; 3.11 is the version the lock was tested on
#     tools/find_python.sh python3.12   that one or none
#
# Run, not only looked up: a version manager's shim exists for versions it will not start.
set -u
probe='
import sys
import ensurepip, venv
if not (3, 11) <= sys.version_info < (3, 14): sys.exit(1)
print("{}.{}".format(*sys.version_info), sys.executable)
'
if [ $# -eq 0 ]; then
    set -- python3.11 python3.12 python3.13 python3
fi
for candidate in "$@"; do
    "$candidate" -c "$probe" 2>/dev/null && exit 0
done

echo "radrl needs Python 3.11, 3.12 or 3.13 with its venv module. Found:" >&2
for candidate in "$@"; do
    version=$("$candidate" --version 2>/dev/null) || version="not installed"
    if [ "$version" != "not installed" ] && ! "$candidate" -c "import ensurepip, venv" 2>/dev/null; then
        version="$version, without venv (on Debian and Ubuntu: apt install $candidate-venv)"
    fi
    echo "    $candidate: $version" >&2
done
echo "Mend: install one of them, then name it, e.g.  make repro PYTHON=python3.11" >&2
exit 1
