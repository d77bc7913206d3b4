#!/usr/bin/env python3
"""An installed Onefold, used as others use it.

package_test.py TEST PREFIX FOLDER COMPILER [LAUNCHER]: PREFIX is the installation, FOLDER is
emptied and used. For "embedding" PREFIX is the folder of Onefold's sources instead.
"""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
COMPONENTS = "core, sqlite, lab, file"  # Behind them, those whose libraries were there.
# What a public header must not include, and what the library must not need.
VENDORS = (
    "sqlite3.h simdjson.h openssl/evp.h fmt/format.h fmt/core.h toml++/toml.h CLI/CLI.hpp"
    " nlohmann/json.hpp"
).split()
NOT_NEEDED = {
    "tomlplusplus": "toml++/toml.h",
    "CLI11": "CLI/CLI.hpp",
    "nlohmann_json": "nlohmann/json.hpp",
    "GTest": "gtest/gtest.h",
    "rapidcheck": "rapidcheck.h",
    "benchmark": "benchmark/benchmark.h",
}


def run(*command, **options):
    """Runs a command; returns its exit status and all that it has printed."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    return done.returncode, done.stdout


def must(*command, **options):
    status, printed = run(*command, **options)
    assert status == 0, f"{' '.join(map(str, command))}\n{printed}"
    return printed


def poison(folder, headers):
    """A folder of headers that nobody may include."""
    for header in headers:
        path = folder / header
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#error "{header} is included"\n', encoding="utf-8")
    return f"-I{folder}"


class Place:
    """Where a test works, and with what."""

    def __init__(self, prefix, folder, compiler, launcher=""):
        self.prefix = pathlib.Path(prefix)
        self.folder = pathlib.Path(folder)
        self.compiler = compiler
        self.launcher = launcher
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def configure(self, lists, *options):
        """Configures a project whose CMakeLists.txt is `lists`; returns status and output."""
        (self.folder / "CMakeLists.txt").write_text(lists, encoding="utf-8")
        shutil.rmtree(self.folder / "build", ignore_errors=True)
        return run(
            *("cmake", "-S", self.folder, "-B", self.folder / "build"),
            f"-DCMAKE_CXX_COMPILER={self.compiler}",
            f"-DCMAKE_PREFIX_PATH={self.prefix}",
            *options,
        )

    def compiles(self, *words):
        return run(self.compiler, "-std=c++20", "-fsyntax-only", *words)

    def check_program(self, program, example):
        must(
            *(sys.executable, EXAMPLES / "run_and_compare.py", "sqlite"),
            *(program, EXAMPLES / example),
            self.folder / "run",
        )


def headers(place):
    """Every installed header compiles alone, and includes no vendor's header."""
    include = place.prefix / "include"
    found = sorted(path.relative_to(include) for path in include.rglob("*.h"))
    assert {"onefold/runner.h", "onefold/stores/sqlite/sqlite.h"} <= set(map(str, found)), found
    poisoned = poison(place.folder / "vendors", VENDORS)
    source = place.folder / "alone.cpp"
    for header in found:
        source.write_text(f'#include "{header}"\n', encoding="utf-8")
        warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
        status, printed = place.compiles(*warnings, f"-I{include}", poisoned, source)
        assert status == 0, printed
    # The check can fail.
    source.write_text("#include <sqlite3.h>\n", encoding="utf-8")
    assert place.compiles(poisoned, source)[0] != 0


def find_package(place):
    """A project of its own: the first consumer, and one that shares a connection."""
    shutil.copy(EXAMPLES / "01_first_consumer/first_consumer.cpp", place.folder / "main.cpp")
    shutil.copy(EXAMPLES / "02_own_connection/own_connection.cpp", place.folder)
    lists = (HERE / "project/CMakeLists.txt").read_text(encoding="utf-8")
    lists += (
        "find_package(SQLite3 REQUIRED)\n"
        "add_executable(own own_connection.cpp)\n"
        "target_link_libraries(own PRIVATE onefold::core onefold::sqlite onefold::file"
        " SQLite::SQLite3)\n"
    )
    status, printed = place.configure(lists)
    assert status == 0, printed
    must("cmake", "--build", place.folder / "build")
    place.check_program(place.folder / "build/app", "01_first_consumer")
    place.check_program(place.folder / "build/own", "02_own_connection")


def project(find):
    return f"cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n{find}\n"


def components(place):
    """What is not installed is named, with what is; what was not asked for need not be there."""
    status, printed = place.configure(project("find_package(onefold REQUIRED COMPONENTS oracle)"))
    assert status != 0
    said = " ".join(printed.split())
    assert f'has no component "oracle". It has: {COMPONENTS}' in said, printed

    optional = (
        "find_package(onefold REQUIRED COMPONENTS file OPTIONAL_COMPONENTS oracle)\n"
        'if(onefold_oracle_FOUND OR NOT onefold_file_FOUND OR TARGET onefold::sqlite)\n'
        '  message(FATAL_ERROR "wrong components")\nendif()'
    )
    # Without the component sqlite, SQLite need not be there; with it, its absence is said.
    status, printed = place.configure(
        project(optional), "-DCMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON"
    )
    assert status == 0, printed
    status, printed = place.configure(
        project("find_package(onefold COMPONENTS sqlite)\nmessage(\"found: ${onefold_FOUND}\")"),
        "-DCMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON",
    )
    assert "found: 0" in printed and "SQLite3 could not be found" in printed, printed

    everything = (
        "find_package(onefold REQUIRED)\nforeach(name core sqlite file)\n"
        "  if(NOT TARGET onefold::${name})\n"
        '    message(FATAL_ERROR "no ${name}")\n  endif()\nendforeach()'
    )
    status, printed = place.configure(project(everything))
    assert status == 0, printed


def versions(place):
    """Another minor version is another interface before 1.0."""
    installed = must("pkg-config", "--modversion", "onefold", env=pkg_config_environment(place))
    major, minor, _ = map(int, installed.split("."))
    for version, fits in (
        (f"{major}.{minor}", True),
        (f"{major}.{minor + 1}", False),
        (f"{major + 1}.{minor}", False),
    ):
        status, printed = place.configure(project(f"find_package(onefold {version} REQUIRED)"))
        assert (status == 0) == fits, printed


def pkg_config_environment(place):
    folders = [path.parent for path in place.prefix.rglob("onefold.pc")]
    assert len(folders) == 1, folders
    return {**os.environ, "PKG_CONFIG_PATH": str(folders[0])}


def pkg_config(place):
    """A program built with a compiler and pkg-config alone, asked in both ways."""
    source = EXAMPLES / "01_first_consumer/first_consumer.cpp"
    program = place.folder / "app"
    for static in ([], ["--static"]):
        flags = must(
            *("pkg-config", "--cflags", "--libs", *static, "onefold-sqlite", "onefold-file"),
            env=pkg_config_environment(place),
        )
        must(place.compiler, "-std=c++20", source, *flags.split(), "-o", program)
        place.check_program(program, "01_first_consumer")


def program(place):
    """The installed program says the version of the package; its man page and completions."""
    version = must("pkg-config", "--modversion", "onefold", env=pkg_config_environment(place))
    assert version.strip() in must(place.prefix / "bin/onefold", "version")
    page = (place.prefix / "share/man/man1/onefold.1").read_text(encoding="utf-8")
    assert page.startswith(".TH ") and r"until\-idle" in page, page[:200]
    must("bash", "-n", place.prefix / "share/bash-completion/completions/onefold")
    for completion in ("zsh/site-functions/_onefold", "fish/vendor_completions.d/onefold.fish"):
        text = (place.prefix / "share" / completion).read_text(encoding="utf-8")
        assert "until-idle" in text, completion


def embedding(place):
    """add_subdirectory, where only the packages of the library can be found and included."""
    poisoned = poison(place.folder / "not_needed", NOT_NEEDED.values())
    must(
        *(EXAMPLES / "embedding/build.sh", place.folder),
        f"-DCMAKE_CXX_COMPILER={place.compiler}",
        f"-DCMAKE_CXX_COMPILER_LAUNCHER={place.launcher}",
        f"-DCMAKE_CXX_FLAGS={poisoned}",
        *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in NOT_NEEDED),
    )


TESTS = (headers, find_package, components, versions, pkg_config, program, embedding)


def main():
    name, *rest = sys.argv[1:]
    {test.__name__: test for test in TESTS}[name](Place(*rest))


if __name__ == "__main__":
    main()
