"""Recognition of errors that mean that a GPU has no memory left."""

from __future__ import annotations

NAMES = ("OutOfMemoryError", "CUDAOutOfMemoryError")
"""Those of torch and CuPy for their own allocations."""
TEXTS = ("ALLOC_FAILED", "out of memory")
"""What the messages of libraries below them contain, such as cuBLAS, whose errors have no class of their own."""


def is_shortage(error: BaseException) -> bool:
    """Return whether an error means that a GPU has no memory left.

    Examples
    --------
    >>> is_shortage(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    True
    >>> is_shortage(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    False
    """
    if type(error).__name__ in NAMES:
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in TEXTS)
