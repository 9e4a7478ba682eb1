"""The devices on which tests run: torch on the CPU everywhere, and a GPU if there is one."""

import pytest

from mercer.gpu.device import Device

torch = pytest.importorskip("torch")

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
NAMES = ["torch:cpu", pytest.param("cuda", marks=[pytest.mark.gpu, NO_GPU])]

on_devices = pytest.mark.parametrize(
    "device", [Device("torch:cpu"), pytest.param(Device("cuda"), marks=NAMES[1].marks)], ids=["torch", "cuda"]
)
