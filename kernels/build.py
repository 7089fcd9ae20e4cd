#!/usr/bin/env python3
"""Compiles the .cu files of kernels to PTX with the NVRTC that kernels/requirements.txt pins by hash, and writes their launches in Rust.

    kernels/build.py            write kernels/ptx/NAME.ptx and kernels/ptx/launches.rs
    kernels/build.py --check    do it again and fail if a committed file differs
    kernels/build.py --hashes   fail if a source has changed since its files were written (no compiler, no download)

Needs Python with pip and a package index; no GPU, no CUDA toolkit. The compiler is downloaded into a temporary folder.
"""

import argparse
import ctypes
import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import launches

KERNELS = launches.KERNELS
PTX = KERNELS / "ptx"
LAUNCHES = PTX / "launches.rs"
# Any GPU from Volta on; the driver compiles further for the one it has. No fast-math: division and square root are exact,
# as on the CPU. C++03 keeps the constants of nv/target out of the PTX.
FOLDERS = [KERNELS, *sorted(path for path in KERNELS.iterdir() if path.is_dir())]
OPTIONS = ["--std=c++03", *[f"--include-path={folder}" for folder in FOLDERS]]
ARCHITECTURE = "compute_70"
# Kernels that need more: the architecture, and the version of PTX that first has their instructions, which stand there as they are
# in the source and of which NVRTC knows nothing. Others take their place on GPUs and drivers that have them not.
NEEDS = {name: ("compute_90", "8.1") for name in ["event_images", "events_quads"]}


def download_nvrtc(folder):
    """The pinned compiler, as a loaded library."""
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    # The wheel is for x86-64 Linux; its version does not depend on Python's.
    download += ["--dest", str(folder), "--requirement", str(KERNELS / "requirements.txt")]
    subprocess.run(download, check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    # NVRTC opens its builtins by name: loading them first makes them known whatever the library path is.
    for name in ["libnvrtc-builtins.so.12.0", "libnvrtc.so.12"]:
        library = ctypes.CDLL(str(next(folder.rglob(name))), mode=ctypes.RTLD_GLOBAL)
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def text_of(nvrtc, kind, program):
    """A text that NVRTC holds for a program: kind is PTX or ProgramLog."""
    size = ctypes.c_size_t()
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(size.value)
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{kind}")(program, text))
    return text.value.decode()


def check(nvrtc, status):
    """Ends the program on an error of NVRTC."""
    if status != 0:
        sys.exit(f"NVRTC: {nvrtc.nvrtcGetErrorString(status).decode()}")


def source_hash(source):
    """The hash of a source file followed by the files that it includes, each followed by those that it includes."""
    digest = hashlib.sha256()

    def add(path):
        digest.update(path.read_bytes())
        for included in launches.includes_of(path.read_text()):
            add(launches.file_of(included))

    add(source)
    return digest.hexdigest()


def ptx_of(nvrtc, name, code):
    """The PTX of a program: the text of the source file NAME.cu, or more."""
    program = ctypes.c_void_p()
    check(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), code.encode(), f"{name}.cu".encode(), 0, None, None))
    architecture, version = NEEDS.get(name, (ARCHITECTURE, None))
    given = [f"--gpu-architecture={architecture}", *OPTIONS]
    options = (ctypes.c_char_p * len(given))(*[option.encode() for option in given])
    if nvrtc.nvrtcCompileProgram(program, len(given), options) != 0:
        sys.exit(f"{name}.cu:\n{text_of(nvrtc, 'ProgramLog', program)}")
    ptx = text_of(nvrtc, "PTX", program)
    check(nvrtc, nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))
    if version is not None:
        ptx = re.sub(r"^\.version .*$", f".version {version}", ptx, count=1, flags=re.MULTILINE)
    return ptx


def build(nvrtc):
    """All files that this writes: paths and texts."""
    paths = sorted(KERNELS.rglob("*.cu"), key=lambda path: path.name)
    # The numbers of calls in PTX go on from program to program: those that are kept come first.
    ptx = {path: ptx_of(nvrtc, path.stem, path.read_text()) for path in paths}
    files, sources = {}, []
    for path in paths:
        files[PTX / f"{path.stem}.ptx"] = f"// source: {path.name}, sha256 {source_hash(path)}\n{ptx[path].strip()}\n"
        source = launches.read_source(path)
        launches.check_entries(source, ptx[path])
        launches.take_layout(source, ptx_of(nvrtc, path.stem, path.read_text() + launches.probe_of(source)))
        sources.append(source)
    return files | {LAUNCHES: launches.rust_of(sources, source_hash)}


def check_hashes():
    """Ends the program if a source has another hash than its PTX or its launches say."""
    hashes = {path.name: source_hash(path) for path in [*KERNELS.rglob("*.cu"), *KERNELS.rglob("*.cuh")]}
    written = [path.read_text().split("\n", 1)[0] for path in PTX.glob("*.ptx")]
    num_sources = sum(name.endswith(".cu") for name in hashes)
    if len(written) != num_sources:
        sys.exit(f"{num_sources} kernels have {len(written)} files of PTX. Run kernels/build.py and commit what it writes")
    written += [line for line in LAUNCHES.read_text().splitlines() if line.startswith("// source: ")]
    heads = [line.removeprefix("// source: ").split(", sha256 ") for line in written]
    wrong = sorted({head[0] for head in heads if len(head) != 2 or hashes.get(head[0]) != head[1]})
    if wrong:
        sys.exit(f"changed since they were compiled: {', '.join(wrong)}. Run kernels/build.py and commit what it writes")
    print(f"{num_sources} files of PTX and {len(written) - num_sources} modules of launches belong to their sources")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed files instead of writing them")
    parser.add_argument("--hashes", action="store_true", help="compare the hashes of the sources with those in the committed files")
    arguments = parser.parse_args()
    if arguments.hashes:
        return check_hashes()
    check_only = arguments.check
    with tempfile.TemporaryDirectory() as folder:
        nvrtc = download_nvrtc(Path(folder))
        built = build(nvrtc)
    committed = {path: path.read_text() for path in sorted([*PTX.glob("*.ptx"), *PTX.glob("*.rs")])}
    if check_only:
        wrong = sorted(path for path in built.keys() | committed.keys() if built.get(path) != committed.get(path))
        if wrong:
            names = ", ".join(str(path.relative_to(KERNELS.parent)) for path in wrong)
            sys.exit(f"out of date: {names}. Run kernels/build.py and commit what it writes")
        print(f"{len(built)} files: PTX and launches are what the kernels' sources give")
        return
    PTX.mkdir(exist_ok=True)
    for path in committed.keys() - built.keys():
        path.unlink()
    for path, text in built.items():
        if committed.get(path) != text:
            path.write_text(text)
            print(path.relative_to(KERNELS.parent))


if __name__ == "__main__":
    main()
