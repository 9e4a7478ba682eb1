"""How the site is built: `make docs` writes it to build/docs, and neither building nor reading it needs a network."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS / "_extensions"), str(DOCS / "figures")]

import mercer  # noqa: E402  the figures and examples must not change what is imported first

project = "Mercer"
author = copyright = "The Mercer developers"
version = release = mercer.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
    "mathml",
    "public_names",
]
templates_path = ["_templates"]
exclude_patterns = ["_extensions", "_templates", "figures", "README.md", "**/*.ipynb"]
suppress_warnings = ["config.cache"]
smartquotes = False  # quotes are mostly those of values, as in "auto"

# Markdown
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist", "attrs_block", "substitution", "html_image"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Reference pages: one for every public name, written by the extension `public_names`.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"member-order": "groupwise"}
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
nitpicky = True

# Figures of the guide
plot_formats = [("png", 160)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False
plot_rcparams = {
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 10.0,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}
plot_apply_rcparams = True

# Gallery: every script in examples; the two long ones are shown without being run.
NOT_RUN = ("demo", "digits")
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": rf"/(?!(?:{'|'.join(NOT_RUN)})\.py$)\w+\.py$",
    "within_subsection_order": "gallery_order.GalleryOrder",
    "doc_module": ("mercer",),
    "reference_url": {"mercer": None},
    "backreferences_dir": "gallery/backreferences",
    "prefer_full_module": {r"mercer"},
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # its page fetches scripts
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "capture_repr": ("_repr_html_", "__repr__"),
}
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")

html_title = "Mercer"
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Mercer"},
    "navbar_align": "left",
    "navbar_center": ["navbar-nav"],
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "back_to_top_button": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"changelog": [], "benchmarks": [], "papers": [], "index": []}
html_context = {"default_mode": "auto"}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
