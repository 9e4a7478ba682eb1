"""The Walsh-Hadamard transform by a few matrix products."""

from __future__ import annotations

from typing import Any

from scipy.linalg import hadamard as matrix

from ..symbol import Symbol

LARGEST = 64
"""The transform of a Kronecker product is a product with every factor; factors are no larger than this."""


def hadamard(X: Symbol) -> Symbol:
    """Return the unnormalised transform of the last axis, whose length is a power of two."""
    shape, width = X.shape, X.shape[-1]
    after, found = 1, X
    while after < width:
        size = min(LARGEST, width // after)
        signs: Any = matrix(size).astype(X.dtype)
        if after == 1:
            found = found.reshape(-1, width // size, size) @ signs
        else:
            parts = found.reshape(-1, width // (size * after), size, after)
            product = X.tracing.constant(signs)
            found = product.node("MatMul", parts, shape=parts.shape)
        after *= size
    return found.reshape(*shape)
