#!/usr/bin/env bash
# Builds the test double of the GPU stack:
#   build.sh OUT INCLUDE…         INCLUDE: folders with CUDA's headers (those of the nvidia-* wheels do)
#   build.sh OUT INCLUDE… -- LIB… and LIB, folders with the real libraries
# nvidia-cuda-cupti, nvidia-cuda-runtime and nvidia-cuda-crt have the headers of libcupti.so.13, libcudart.so.13 and
# libcuda.so.1. libcublas.so.13 and libcublasLt.so.13 are built where cuBLAS's are and it is in a LIB, libcudnn.so.9
# where cuDNN's are and it is. Whatever a real library exports and its double lacks is exported as a function that ends
# the process with its name, since other libraries are bound to it when they are loaded.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
stop() { printf '%s\n' "$*" >&2; exit 1; }

[ $# -ge 2 ] || stop "usage: build.sh OUT INCLUDE… [-- LIB…]"
out=$1 includes=() folders=() real=()
shift
while [ $# -gt 0 ]; do
  if [ "$1" = -- ]; then real=("${@:2}"); break; fi
  [ -d "$1" ] || stop "There is no folder $1."
  folders+=("$(cd "$1" && pwd)")
  shift
done
mkdir -p "$out/made"
out=$(cd "$out" && pwd)
# The compiler works in OUT, and is given everything by names there, which are the same for each checkout and each OUT:
# so ccache finds what was compiled for another one.
ln -sfn "$here" "$out/sources"
for folder in "${folders[@]}"; do
  name=headers-${#includes[@]}
  ln -sfn "$folder" "$out/$name"
  includes+=("-isystem$name")
done

# Where one of the include folders has that header.
header() {
  local folder
  for folder in "${folders[@]}"; do
    [ -f "$folder/$1" ] && { printf '%s' "$folder/$1"; return 0; }
  done
  return 1
}

# Where one of the folders of real libraries has that one.
real_library() {
  local folder
  for folder in "${real[@]}"; do
    [ -f "$folder/$1" ] && { printf '%s' "$folder/$1"; return 0; }
  done
  return 1
}

compiler=${CXX:-g++}
if command -v ccache >/dev/null; then compiler="ccache $compiler"; fi

# names PREFIX HEADER: "{id, "name"}," for each entry of an enum
names() { sed -nE "s/^ *$1([A-Za-z0-9_]+) *= *([0-9]+),.*/{\2, \"\1\"},/p" "$2"; }

make_names() {
  local cupti
  cupti=$(header cupti.h) || stop "No include folder has cupti.h: the wheel nvidia-cuda-cupti carries it."
  cupti=${cupti%/cupti.h}
  names CUPTI_RUNTIME_TRACE_CBID_ "$cupti/cupti_runtime_cbid.h" >"$out/made/runtime_names.inc"
  names CUPTI_DRIVER_TRACE_CBID_ "$cupti/cupti_driver_cbid.h" >"$out/made/driver_names.inc"
  sed -nE 's/^ *(CUPTI_(SUCCESS|ERROR_[A-Z0-9_]+)) *= *[0-9]+,.*/{\1, "\1"},/p' "$cupti/cupti_result.h" \
    >"$out/made/result_names.inc"
}

# What the real library exports and ours does not: those who load it ask for it.
missing() {
  local real_one
  real_one=$(real_library "$1") || return 0
  comm -23 <(nm -D --defined-only "$real_one" | awk '$2 ~ /[TW]/ {sub(/@.*/, "", $3); print $3}' | sort -u) \
    <(nm --defined-only --extern-only "${@:2}" 2>/dev/null | awk 'NF == 3 {print $3}' | sort -u)
}

stub_source() {
  local name number=0
  printf 'extern "C" [[noreturn]] void nogpu_missing(const char*);\n'
  while read -r name; do
    number=$((number + 1))
    printf 'void stub_%d() asm("%s");\nvoid stub_%d() { nogpu_missing("%s"); }\n' $number "$name" $number "$name"
  done
}

# compile SOURCE OBJECT: both are named as they are in OUT
compile() (
  cd "$out"
  # shellcheck disable=SC2086
  CCACHE_NOHASHDIR=1 $compiler -std=c++20 -O1 -g1 -fPIC -Wall -Wextra -Wno-deprecated-declarations -iquote sources \
    -iquote made "${includes[@]}" -c "$1" -o "$2"
)

# library NAME EXPORTS SOURCE…: a shared library whose symbols have its name as their version, as the real one's have
library() {
  local name=$1 exports=$2 source job made objects=() jobs=() links=()
  made=$out/made/$name
  shift 2
  mkdir -p "$made"
  for source in "$@"; do
    objects+=("$made/$(basename "$source").o")
    compile "sources/$(basename "$source")" "made/$name/$(basename "$source").o" & jobs+=($!)
    # Two at a time.
    if [ ${#jobs[@]} -ge 2 ]; then wait "${jobs[0]}"; jobs=("${jobs[@]:1}"); fi
  done
  for job in "${jobs[@]}"; do wait "$job"; done
  missing "$name" "${objects[@]}" >"$made/missing"
  if [ -s "$made/missing" ]; then
    stub_source <"$made/missing" >"$made/missing.cc"
    compile "made/$name/missing.cc" "made/$name/missing.o"
    objects+=("$made/missing.o")
  fi
  printf '%s { global: %s %s };\nNOGPU { global: nogpu_*; _ZN*5nogpu*; local: *; };\n' "$name" "$exports" \
    "$(sed 's/.*/"&";/' "$made/missing" | tr '\n' ' ')" >"$made/exports.map"
  if [ "$name" != libcupti.so.13 ]; then links=("$out/libcupti.so.13"); fi
  # shellcheck disable=SC2016
  ${CXX:-g++} -shared -o "$out/$name" "${objects[@]}" "${links[@]}" -Wl,-soname,"$name" \
    -Wl,--version-script,"$made/exports.map" -Wl,-rpath,'$ORIGIN' -Wl,-z,defs -pthread
}

sources() { local name; for name in "$@"; do printf '%s/%s\n' "$here" "$name"; done; }

make_names
mapfile -t core < <(sources device.cc device_limits.cc graph.cc log.cc faults.cc subscriber.cc api_call.cc client_clock.cc gemm.cc \
  activity_buffers.cc cupti_records.cc cupti_activity_api.cc cupti_ids_api.cc nogpu.cc)
library libcupti.so.13 'cupti*;' "${core[@]}"
library libcudart.so.13 'cuda*; __cuda*;' "$here"/cudart_*.cc
library libcuda.so.1 'cu*;' "$here"/cuda_*.cc
if header cublas_v2.h >/dev/null && real_library libcublas.so.13 >/dev/null; then
  library libcublasLt.so.13 'cublasLt*;' "$here"/cublaslt_*.cc
  library libcublas.so.13 'cublas*;' "$here"/cublas_*.cc
fi
if header cudnn.h >/dev/null && real_library libcudnn.so.9 >/dev/null; then
  library libcudnn.so.9 'cudnn*;' "$here"/cudnn_*.cc
fi
