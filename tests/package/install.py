#!/usr/bin/env python3
"""Installs a build, then moves the installation: install.py BUILD_FOLDER PREFIX.

Whatever is used from PREFIX afterwards works although it was installed to another place. Checks
that no installed text names the folders of the build.
"""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    build, prefix = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    first = prefix.with_name("installed")
    for folder in (first, prefix):
        shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(
        ["cmake", "--install", build, "--prefix", first], stdout=subprocess.DEVNULL, check=True
    )
    first.rename(prefix)

    found = 0
    for path in sorted(prefix.rglob("*")):
        if path.suffix not in (".cmake", ".pc", ".h"):
            continue
        text = path.read_text(encoding="utf-8")
        for folder in (ROOT, build, first):
            if str(folder) in text:
                print(f"{path.relative_to(prefix)} names {folder}")
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
