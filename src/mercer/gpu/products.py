"""Products of float32 matrices on a GPU, in the precision that is set, and products with signs."""

from __future__ import annotations

from typing import Any

from .precision import current, torch_products


def sign_product(X: Any, signs: Any) -> Any:
    """``X @ signs.T`` for a float32 tensor and rows of small integers.

    Signs are exact in bfloat16, and a float32 number is the sum of three bfloat16 ones: three products on tensor cores,
    which add up in float32, take less than one in float32 does.

    Parameters
    ----------
    X : tensor of shape (n_rows, n_columns)
    signs : tensor of shape (n_signs, n_columns)
    """
    import torch

    parts, rest = [], X
    for _ in range(3):
        parts.append(rest.to(torch.bfloat16))
        rest = rest - parts[-1].to(torch.float32)
    matrix = signs.to(torch.bfloat16).T
    if X.is_cuda:
        return torch.mm(torch.cat(parts, dim=1), torch.cat([matrix] * 3, dim=0), out_dtype=torch.float32)
    return sum(part.to(torch.float32) @ matrix.to(torch.float32) for part in parts)


def product(X: Any, matrix: Any, out: Any) -> None:
    """Write ``X @ matrix`` of float32 tensors to ``out``, in the precision that is set."""
    import torch

    name = current()
    if name == "tf32x3":
        # One product of matrices that are three times as deep: leading by leading digits, and each by the trailing.
        (high, low), (matrix_high, matrix_low) = _digits(X), _digits(matrix)
        X, matrix = torch.cat([high, high, low], dim=1), torch.cat([matrix_high, matrix_low, matrix_high], dim=0)
    with torch_products(name != "float32"):
        torch.mm(X, matrix, out=out)


def _digits(X: Any) -> tuple[Any, Any]:
    """The digits of float32 numbers that TF32 has, and the rest."""
    import torch

    high = (X.view(torch.int32) & ~0x1FFF).view(torch.float32)
    return high, X - high
