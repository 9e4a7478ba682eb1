"""Pages in a real browser, at the widths of a desktop and of a phone, light and dark."""

from __future__ import annotations

import pytest

from mercer import data, report
from mercer.choose import Tuned
from mercer.choose.halving import Trial

from .browser import CHROMIUM, shown
from .pages import HOSTILE
from .test_comparison import X as ROWS

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def pages(tmp_path_factory, numbers, classes, letters):
    """Pages about numbers and classes, few and many, a comparison, a search, and one among others, in a folder."""
    folder = tmp_path_factory.mktemp("pages")
    compared = report.compare(data.open(ROWS, target=2), "regression", features=[8, 16], exact_rows=50, rows=200)
    texts = {
        "numbers": numbers[0],
        "classes": classes[0],
        "letters": letters[0],
        "maps": report.comparison_page(compared),
        "search": report.page("A search", report.trials_section(searched())),
        "leaky": f"<!DOCTYPE html><title>a</title><p>{HOSTILE}<p style='width:2000px'>wide",
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["numbers", "classes", "maps"])
def test_a_page_is_complete_and_self_contained(pages, name):
    found, requests = shown(pages / f"{name}.html", WIDTHS)
    assert requests == set()
    for one, width in zip(found, WIDTHS, strict=True):
        assert one["fetched"] == []
        assert one["scripts"] == 0
        assert one["img"] == []
        assert one["width"] == width
        assert one["scrolled"] <= width  # tables that are wider move by themselves
        assert len(one["svg"]) >= 3
        for picture in one["svg"]:
            assert len(picture["label"].split()) >= 5
            assert picture["width"] > 250
            assert picture["height"] > 100
            assert picture["drawn"] > 0
            assert picture["marks"] > 5
        assert name != "classes" or HOSTILE in one["words"]
        assert brightness(one["ink"]) < 128 < brightness(one["ground"])


@pytest.mark.parametrize("name", ["numbers", "classes", "letters", "maps", "search"])
def test_no_text_is_cut_off(pages, name):
    found, _ = shown(pages / f"{name}.html", WIDTHS, folder="cut")
    for one, width in zip(found, WIDTHS, strict=True):
        assert one["clipped"] == []
        assert one["outside"] == []
        assert one["unread"] == []
        assert one["opened"] <= width
    if name in ("letters", "search"):  # what is much wider than a telephone has room on a desk
        assert found[0]["moving"] == []
        assert found[1]["moving"] != []


def test_what_is_cut_off_would_be_seen(tmp_path):
    page = tmp_path / "cut.html"
    page.write_text(
        "<!DOCTYPE html><body><div class=a style='overflow:hidden;width:90px'><p style='width:200px'>hidden</p></div>"
        "<div class=b style='width:900px'>wide</div><svg width=50 height=50><text x=40 y=20>a long label</text></svg>",
        encoding="utf-8",
    )
    (found,), _ = shown(page, [390])
    assert found["clipped"] == ["DIV.a: hidden"]
    assert found["outside"] == ["DIV.b: wide"]
    assert found["unread"] == ["a long label"]


def test_what_leaves_a_page_would_be_seen(pages):
    (found,), requests = shown(pages / "leaky.html", [390])
    assert requests == {"http://hostile.invalid/x.png"}
    assert found["scripts"] == 1
    assert found["img"] == [{"alt": "", "width": 0}]
    assert found["scrolled"] > 390


def test_dark_pages_have_light_ink_in_pictures_too(pages):
    (found,), _ = shown(pages / "numbers.html", [800], dark=True)
    assert brightness(found["ground"]) < 64
    assert min(brightness(colour) for one in found["svg"] for colour in [found["ink"], *one["text"]]) > 192


def searched() -> Tuned:
    """A search of two rounds whose kernels have long names."""
    kernel = "Gaussian(gamma=0.1234) + 0.5 * Polynomial(degree=3, gamma=0.2269, coef0=1.0)"
    trials = [Trial(1, kernel, "standard", "squared", 1e-4, 2000, 256, "leave-one-out R2", 0.9, 0.1) for _ in range(40)]
    return Tuned(None, trials, [trials[0]._replace(round=2, measure="fit", score=float("nan"))], ["a note"])


def brightness(colour: str) -> float:
    """The brightness of a colour such as "rgb(1, 2, 3)"."""
    return sum(float(part) for part in colour.strip("rgba()").split(",")[:3]) / 3.0
