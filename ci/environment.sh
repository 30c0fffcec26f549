# For the scripts beside this one: Pythons and virtual environments outside of Bazel.

# Where environments are kept from one run to the next.
readonly ENVIRONMENTS="${LAMINAX_CI_ENVIRONMENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/laminax-ci}"

# python_of VERSION: prints the path of that Python, "3.12" for one; looked for as Bazel's rule does.
python_of() {
  local candidate
  for candidate in "$(command -v "python$1" || true)" "$(command -v python3 || true)" \
      "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1"*/bin/"python$1" "/usr/local/bin/python$1"; do
    if [[ -x "$candidate" ]] && [[ "$("$candidate" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" == "$1" ]]; then
      "$candidate" -I -c 'import sys; print(sys.executable)'
      return
    fi
  done
  echo "no Python $1 was found on PATH, among pyenv's versions or in /usr/local/bin" >&2
  return 1
}

# make_environment NAME VERSION PIP_ARGUMENT...: prints the python of a virtual environment in which these are installed.
make_environment() {
  local name="$1" version="$2" folder="$ENVIRONMENTS/$1" base wanted
  shift 2
  base="$(python_of "$version")" || return 1
  wanted="$base $* $(for file in "$@"; do [[ -f "$file" ]] && cksum "$file"; done)"
  if [[ ! -x "$folder/bin/python" || "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]]; then
    echo "making the environment $name in $folder" >&2
    rm -rf "$folder"
    mkdir -p "$ENVIRONMENTS"
    "$base" -m venv "$folder" >&2 &&
      "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2 &&
      echo "$wanted" >"$folder/installed" || return 1
  fi
  echo "$folder/bin/python"
}

# packages_path: the five packages of this checkout, for PYTHONPATH.
packages_path() {
  local root layer result=""
  root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
  for layer in ir transforms lowering runtime api; do result+="${result:+:}$root/packages/$layer"; done
  echo "$result"
}
