# Sourced by the scripts: finds a Python that is new enough, keeps the environment in .venv up to date,
# and leaves the shell in the project's folder with $venv_python set.
# Wants: $root, the project's folder. Usage: . "$root/script/lib/python.sh" && ensure_environment core|dev

find_python() {
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$candidate"
            return 0
        fi
    done
    {
        echo "Touchstone needs Python 3.11 or newer, and there is none on the PATH."
        if command -v python3 >/dev/null 2>&1; then
            echo "python3 here is $(python3 --version 2>&1)."
        fi
        echo "Install one (python.org, or your system's packages), or name it: PYTHON=/path/to/python3 $0"
    } >&2
    return 1
}

ensure_environment() {
    cd "$root" || exit 1
    venv_python="$root/.venv/bin/python"
    base_python=$(find_python) || exit 1
    "$base_python" "$root/script/lib/environment.py" "$1" || exit 1
}
