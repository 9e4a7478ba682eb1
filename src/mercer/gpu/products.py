"""Products of float32 matrices on a GPU in the current precision, and products with signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .device import Tensor
from .precision import current, torch_products

if TYPE_CHECKING:
    import torch

PARTS = 3
"""The number of bfloat16 numbers that add up to a float32 number."""


def in_parts(X: Tensor) -> Tensor:
    """Return float32 numbers as sums of bfloat16 numbers, side by side: first the leading digits of all columns."""
    import torch

    parts, rest = [], X
    for _ in range(PARTS):
        parts.append(rest.to(torch.bfloat16))
        rest = rest - parts[-1].to(torch.float32)
    return torch.cat(parts, dim=1)


def sign_matrix(signs: Tensor, device: torch.device) -> Tensor:
    """Return rows of small integers as a matrix by which rows in parts are multiplied.

    Parameters
    ----------
    signs : array of shape (n_signs, n_columns)
        NumPy or torch.
    device : torch.device
    """
    import torch

    matrix = signs if isinstance(signs, torch.Tensor) else torch.tensor(signs)  # a copy: parameters are read-only
    return matrix.to(device).to(torch.bfloat16).T.repeat(PARTS, 1)


def split_product(X: Tensor, matrix: Tensor) -> Tensor:
    """Return the product of rows in parts with a matrix of signs, in float32.

    Signs are exact in bfloat16, so three products on tensor cores, added up in float32, are as accurate as one in
    float32 and take less time.
    """
    import torch

    if X.is_cuda:
        return torch.mm(X, matrix, out_dtype=torch.float32)
    return X.to(torch.float32) @ matrix.to(torch.float32)


def sign_product(X: Tensor, signs: Tensor) -> Tensor:
    """``X @ signs.T`` for a float32 tensor and rows of small integers.

    Parameters
    ----------
    X : tensor of shape (n_rows, n_columns)
    signs : tensor of shape (n_signs, n_columns)
    """
    return split_product(in_parts(X), sign_matrix(signs, X.device))


def product(X: Tensor, matrix: Tensor, out: Tensor) -> None:
    """Write ``X @ matrix`` of float32 tensors to ``out``, in the current precision."""
    import torch

    name = current()
    if name == "tf32x3":
        # One product with three times the inner dimension: leading by leading digits, and each by trailing ones.
        (high, low), (matrix_high, matrix_low) = _digits(X), _digits(matrix)
        X, matrix = torch.cat([high, high, low], dim=1), torch.cat([matrix_high, matrix_low, matrix_high], dim=0)
    with torch_products(name != "float32"):
        torch.mm(X, matrix, out=out)


def _digits(X: Tensor) -> tuple[Tensor, Tensor]:
    """Return the digits of float32 numbers that TF32 keeps, and the rest."""
    import torch

    high = (X.view(torch.int32) & ~0x1FFF).view(torch.float32)
    return high, X - high
