"""The passes of a solver that are to come, and what each takes."""

from __future__ import annotations

from ..forecast import Work

PRODUCT_COST = 3.0
"""The time of a product with few columns, a number of its operations, over that of a product of large matrices."""
USUAL_STEPS, USUAL_PRODUCTS = 8, 4
"""How many Newton steps are expected, and steps of conjugate gradients in each, before there are any to judge by."""


def product_work(n_rows: int, width: int, n_columns: int) -> float:
    """Operations of one product with all features, as many as those of a product of large matrices take as long."""
    return 2.0 * PRODUCT_COST * n_rows * width * n_columns


def step_works(product: float, products: int) -> list[Work]:
    """The passes of a Newton step with so many steps of conjugate gradients."""
    inner = products * [Work("conjugate gradients", 2.0 * product)]
    return [Work("gradient", product), *inner, Work("decision values", product)]


def curvature_works(n_rows: int, width: int, count: int) -> list[Work]:
    """The passes for so many Hessians, with their factors."""
    return count * [Work("curvature", float(n_rows) * width**2 + float(width) ** 3 / 3.0)]


def usual_works(n_rows: int, width: int, n_columns: int) -> list[Work]:
    """The passes of Newton's method, before there is anything to judge by."""
    hessians = curvature_works(n_rows, width, 1 + n_columns)
    return hessians + USUAL_STEPS * step_works(product_work(n_rows, width, n_columns), USUAL_PRODUCTS)
