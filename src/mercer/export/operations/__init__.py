"""Operations that no array namespace has, one file each, by the names under which arrays record them."""

from collections.abc import Callable
from typing import Any

from .count_sketch import count_sketch
from .fourier import irfft, rfft
from .hadamard import hadamard
from .kernel_values import kernel_values

RECORDED: dict[str, Callable[..., Any]] = {
    made.__name__: made for made in (count_sketch, hadamard, irfft, kernel_values, rfft)
}
