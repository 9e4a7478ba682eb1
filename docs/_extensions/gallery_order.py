"""The order of the gallery: what most people ask first comes first."""

from __future__ import annotations

FIRST = tuple(
    f"{name}.py"
    for group in (
        ("slow_svc", "mixed_columns", "best_map", "how_wrong", "tune_on_a_budget", "parquet_folder"),
        ("importances", "intervals", "quantiles", "uncertainty"),
        ("sparse_text", "histograms", "strings", "own_kernel"),
        ("kernel_pca", "clusters", "novelty", "drift", "independence", "forget_a_customer", "forgetting"),
        ("same_model_on_a_gpu", "digits", "demo"),
    )
    for name in group
)


class GalleryOrder:
    """The key by which Sphinx-Gallery sorts examples; those that are not listed come last, by name."""

    def __init__(self, folder: str):
        self.folder = folder

    def __call__(self, file: str) -> tuple[int, str]:
        return (FIRST.index(file) if file in FIRST else len(FIRST), file)

    def __repr__(self) -> str:
        return "<GalleryOrder>"  # the same in every build, so that a page is not built again for it
