"""CUDA kernels on the CPU: the sources that a GPU runs, compiled by the C++ compiler, with fibers for threads."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from mercer.gpu.kernels.compiler import SOURCES, Kernel

COMPILER = shutil.which("c++") or shutil.which("g++")
ALIGNED = ("-fsanitize=alignment", "-fsanitize-undefined-trap-on-error")
"""A GPU refuses what is not aligned, which the CPU would read all the same."""
HEADER = Path(__file__).parent / "cuda_on_cpu.h"


def launch(kernel: Kernel, blocks: int, device, arguments) -> None:
    """Run a kernel like :func:`mercer.gpu.kernels.compiler.launch`, on tensors in CPU memory."""
    function, types = compiled(kernel)
    assert len(types) == len(arguments), f"{kernel.name} takes {len(types)} arguments, found {len(arguments)}"
    values = [converted(argument, ctype) for argument, ctype in zip(arguments, types, strict=True)]
    function(blocks, kernel.threads, *values)


def converted(argument, ctype):
    """An argument as a C value, whose type must be the one that a launch on a GPU would pass."""
    if ctype is ctypes.c_void_p:
        assert argument.device.type == "cpu"
        return ctypes.c_void_p(argument.data_ptr())
    plain = ctypes.c_float if isinstance(argument, float) else ctypes.c_int
    assert (type(argument) if isinstance(argument, ctypes._SimpleCData) else plain) is ctype, (argument, ctype)
    return argument if isinstance(argument, ctypes._SimpleCData) else ctype(argument)


@cache
def compiled(kernel: Kernel):
    """The function that runs a kernel on blocks of threads, and the C types of its arguments."""
    source = (SOURCES / f"{kernel.name}.cu").read_text()
    parameters = re.search(rf"\b{kernel.name}\((.*?)\)\s*{{", source, re.DOTALL).group(1)
    declared = [" ".join(part.split()) for part in parameters.split(",")]
    names = ", ".join(part.split()[-1] for part in declared)
    defines = "".join(f"#define {name} {value}\n" for name, value in kernel.constants)
    text = (
        f'#include "{HEADER}"\n{defines}#include "{SOURCES / kernel.name}.cu"\n'
        f'extern "C" void run(int blocks, int threads, {", ".join(declared)}) {{\n'
        f"    launch({kernel.shared}, blocks, threads, {kernel.name}, {names});\n}}\n"
    )
    folder = Path(tempfile.mkdtemp())
    (folder / "kernel.cpp").write_text(text)
    library = folder / "kernel.so"
    command = [
        COMPILER,
        "-std=c++20",
        "-O0",
        *ALIGNED,
        "-w",
        "-fPIC",
        "-shared",
        str(folder / "kernel.cpp"),
        "-o",
        str(library),
    ]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(library))
    shutil.rmtree(folder)
    types = [c_type(part) for part in declared]
    loaded.run.argtypes = [ctypes.c_int, ctypes.c_int, *types]
    loaded.run.restype = None
    return loaded.run, types


def c_type(declaration: str):
    if "*" in declaration:
        return ctypes.c_void_p
    return {"int": ctypes.c_int, "float": ctypes.c_float, "long long": ctypes.c_longlong}[declaration.rsplit(" ", 1)[0]]
