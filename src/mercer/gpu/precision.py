"""Products in full float32, whatever the process has allowed torch to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .device import Device


@contextmanager
def full_precision(device: Device) -> Iterator[None]:
    """Let no product of float32 be rounded to TF32: conjugate gradients would not converge with such products."""
    products = device.torch.backends.cuda.matmul
    name = "fp32_precision" if hasattr(products, "fp32_precision") else "allow_tf32"
    exact = "ieee" if name == "fp32_precision" else False
    before = getattr(products, name)
    setattr(products, name, exact)
    try:
        yield
    finally:
        setattr(products, name, before)
