#!/usr/bin/env python3
"""Compiles every kernels/*.cu to PTX with the NVRTC that kernels/requirements.txt pins by hash.

    kernels/build.py            write kernels/ptx/NAME.ptx
    kernels/build.py --check    compile again and fail if a committed file differs

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

KERNELS = Path(__file__).resolve().parent
PTX = KERNELS / "ptx"
# Any GPU from Volta on; the driver compiles further for the one it has. No fast-math: division and square root are exact,
# as on the CPU. C++03 keeps the constants of nv/target out of the PTX.
OPTIONS = ["--std=c++03", f"--include-path={KERNELS}"]
ARCHITECTURE = "compute_70"
# Kernels that need more: the architecture, and the version of PTX that first has their instructions, which stand there as they are
# in the source and of which NVRTC knows nothing. Others take their place on GPUs and drivers that have them not.
NEEDS = {"event_quads": ("compute_90", "8.1")}


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
    """The hash of a source file followed by the files that it includes."""
    digest = hashlib.sha256(source.read_bytes())
    for included in re.findall(r'^#include "(.*)"$', source.read_text(), re.MULTILINE):
        digest.update((KERNELS / included).read_bytes())
    return digest.hexdigest()


def compile_to_ptx(nvrtc, source):
    """The PTX of one source file, headed by the source's hash."""
    code = source.read_bytes()
    program = ctypes.c_void_p()
    check(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), code, source.name.encode(), 0, None, None))
    architecture, version = NEEDS.get(source.stem, (ARCHITECTURE, None))
    given = [f"--gpu-architecture={architecture}", *OPTIONS]
    options = (ctypes.c_char_p * len(given))(*[option.encode() for option in given])
    if nvrtc.nvrtcCompileProgram(program, len(given), options) != 0:
        sys.exit(f"{source}:\n{text_of(nvrtc, 'ProgramLog', program)}")
    ptx = text_of(nvrtc, "PTX", program)
    check(nvrtc, nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))
    if version is not None:
        ptx = re.sub(r"^\.version .*$", f".version {version}", ptx, count=1, flags=re.MULTILINE)
    return f"// source: {source.name}, sha256 {source_hash(source)}\n{ptx.strip()}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed files instead of writing them")
    check_only = parser.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        nvrtc = download_nvrtc(Path(folder))
        built = {source.stem: compile_to_ptx(nvrtc, source) for source in sorted(KERNELS.glob("*.cu"))}
    committed = {path.stem: path.read_text() for path in sorted(PTX.glob("*.ptx"))}
    if check_only:
        wrong = sorted(name for name in built.keys() | committed.keys() if built.get(name) != committed.get(name))
        if wrong:
            sys.exit(f"kernels/ptx is out of date for {', '.join(wrong)}: run kernels/build.py and commit what it writes")
        print(f"{len(built)} kernels: the committed PTX is what their sources give")
        return
    PTX.mkdir(exist_ok=True)
    for name in committed.keys() - built.keys():
        (PTX / f"{name}.ptx").unlink()
    for name, text in built.items():
        (PTX / f"{name}.ptx").write_text(text)
        print(f"kernels/ptx/{name}.ptx")


if __name__ == "__main__":
    main()
