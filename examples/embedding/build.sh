#!/usr/bin/env bash
# Builds a project of its own that contains Onefold, then runs its program on the first consumer's
# events: build.sh FOLDER [CMAKE_OPTION...].
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
first=$here/../01_first_consumer
rm -rf -- "$1/app"
mkdir -p "$1/app"
cd "$1/app"
cp "$here/CMakeLists.txt" .
cp "$first/first_consumer.cpp" main.cpp
ln -s "$(realpath "$here/../..")" onefold
cmake -S . -B build -DCMAKE_BUILD_TYPE=Debug "${@:2}" > /dev/null
if ! cmake --build build --parallel "$(nproc)" --target app > build.log 2>&1; then
  cat build.log
  exit 1
fi
python3 "$here/../run_and_compare.py" sqlite build/app "$first" run
echo "embedding: the program of another project applied each event once"
