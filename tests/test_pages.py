"""The pages of the site are correct: their code runs and prints what they show, and their links exist."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

from .site_check import page, wrong

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("*/*.md"))
EXAMPLES = sorted(page.name for page in (ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"\$\$([^$]+)\$\$|\$([^$]+)\$")
LONG = ("demo.py", "digits.py")


def run(page: str) -> tuple[int, int]:
    """Run the Python of a page from top to bottom; return the number of examples, and of those with other output."""
    text = (ROOT / page).read_text(encoding="utf-8")
    parser, runner = (
        doctest.DocTestParser(),
        doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE),
    )
    names: dict = {}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        test = parser.get_doctest(block[1], names, page, page, line)
        test.globs = names  # not the copy that a test makes: functions of one block see what the next one assigns
        runner.run(test, clear_globs=False)
    return runner.tries, runner.failures


def with_code() -> list[str]:
    return [page for page in PAGES if BLOCK.search((ROOT / page).read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", with_code())
def test_a_page_prints_what_it_says(page):
    tries, failures = run(page)
    assert tries > 0
    assert failures == 0, f"{page} shows other output, see above"


@pytest.mark.parametrize("page", [*PAGES, "docs/index.md", "paper.md"])
def test_every_link_of_a_page_leads_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        found = (ROOT / page).parent / target
        built = target.startswith(("../gallery/", "gallery/", "../reference/packages/"))
        assert built or found.exists() or found.with_suffix(".md").exists(), f"{page} points at {target}"


def test_every_figure_of_the_site_is_there_and_used():
    text = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    used = set(re.findall(r"^\.\. plot:: figures/(\w+)\.py$", text, re.MULTILINE))
    scripts = {path.stem for path in (ROOT / "docs" / "figures").glob("*.py")}
    assert scripts - {"tables", "error_against_time"} == used


def test_every_formula_becomes_mathml(monkeypatch):
    latex = pytest.importorskip("docutils.utils.math.latex2mathml")
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    mathml = importlib.import_module("mathml")
    formulas = [
        found[1] or found[2]
        for page in PAGES
        for found in FORMULA.finditer(CODE.sub("", (ROOT / page).read_text(encoding="utf-8")))
    ]
    assert len(formulas) > 80
    for formula in formulas:
        mathml.with_plain_fences(latex.tex2mathml(mathml.readable(formula)))
    function = mathml.with_plain_fences(latex.tex2mathml(r"\cos x < \|y\|"))
    assert "\N{FUNCTION APPLICATION}" in function, "docutils names the sign as HTML does, which XML does not know"
    assert "&lt;" in function
    assert function.count('stretchy="false"') == 2


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_starts_with_a_title(name):
    docstring = ast.get_docstring(ast.parse((ROOT / "examples" / name).read_text(encoding="utf-8")))
    title, rule, *_ = docstring.splitlines()
    assert set(rule) == {"="}
    assert len(rule) >= len(title)


def test_the_check_of_the_site_finds_what_is_wrong(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a><a id="top" href="#top">x</a>', encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="there"></p><img src="a.html">', encoding="utf-8")
    assert wrong(tmp_path) == []
    page.cache_clear()
    (tmp_path / "b.html").write_text('<a href="c.html">x</a><script src="https://x.org/y.js">', encoding="utf-8")
    (tmp_path / "site.css").write_text("@import url(https://x.org/y.css);", encoding="utf-8")
    complaints = " ".join(wrong(tmp_path))
    assert all(words in complaints for words in ("#there, a place", "c.html, which", "fetches https://x.org/y.js"))
    assert "site.css fetches" in complaints
    page.cache_clear()


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in LONG])
def test_an_example_runs(name, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    code = compile((ROOT / "examples" / name).read_text(encoding="utf-8"), name, "exec", dont_inherit=True)
    exec(code, {"__name__": "__main__", "__file__": str(ROOT / "examples" / name)})
    matplotlib.pyplot.close("all")
