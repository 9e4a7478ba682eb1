"""The precision of matrix products in float32 on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock

from .._checks import check_choice
from .device import Device

PRECISIONS = ("float32", "tf32x3", "tf32", "bfloat16")

_current: ContextVar[str] = ContextVar("precision", default="float32")
_torch_setting = RLock()


@contextmanager
def precision(name: str) -> Iterator[None]:
    """Set the precision of the matrix products that map float32 rows on a GPU, inside a ``with`` block.

    Maps without a matrix, such as :class:`~mercer.StructuredFourier`, always compute in float32. So do the solvers of
    learners, whose conjugate gradients would not converge with less.

    Parameters
    ----------
    name : {"float32", "tf32x3", "tf32", "bfloat16"}
        "float32", the default outside such a block, rounds as a CPU does. "tf32x3" uses the tensor cores three times,
        once for the leading and twice for the trailing digits: it is about twice as fast, with errors of about 1e-6 of
        the largest phase. "tf32" uses them once: it is about four times as fast, with errors of about 3e-4. "bfloat16"
        is "tf32" with features rounded to bfloat16: ``transform`` of tensors then returns half as many bytes, with
        errors of about 2e-3. Learners keep features in float32.

    Yields
    ------
    None
        Nothing; the precision holds inside the block.

    Examples
    --------
    >>> import mercer
    >>> from mercer.gpu import precision
    >>> with precision("tf32"):
    ...     pass  # features.transform(X), with X on a GPU
    """
    check_choice("precision", name, PRECISIONS)
    token = _current.set(name)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> str:
    """Return the current precision."""
    return _current.get()


@contextmanager
def torch_products(tf32: bool) -> Iterator[None]:
    """Let torch multiply float32 matrices on the tensor cores in TF32, or not, regardless of the program's setting.

    Torch has one setting for all threads; it is held for as long as it takes to launch the products.
    """
    import torch

    products = torch.backends.cuda.matmul
    name: str = "allow_tf32"
    wanted: bool | str = tf32
    if hasattr(products, "fp32_precision"):  # since torch 2.9, which accepts only one of the two names
        name, wanted = "fp32_precision", "tf32" if tf32 else "ieee"
    with _torch_setting:
        before = getattr(products, name)
        setattr(products, name, wanted)
        try:
            yield
        finally:
            setattr(products, name, before)


@contextmanager
def full_precision(device: Device) -> Iterator[None]:
    """Prevent float32 products from being rounded to TF32, with which conjugate gradients would not converge."""
    with torch_products(tf32=False):
        yield
