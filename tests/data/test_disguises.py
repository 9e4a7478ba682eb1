"""Text that looks like numbers, dates or identifiers is named, and other text is not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from mercer import KernelRegressor
from mercer.data import disguised_text
from mercer.data.disguised_text import remarks

NUMBERS = {
    "decimal commas": ["3,14", "2,71", "1,41"],
    "dollars": ["$1,200.50", "$80", "$7,000"],
    "euros": ["1.200,50 €", "80,00 €", "7 €"],
    "named money": ["EUR 12.50", "EUR 3"],
    "thousands": ["1,200", "12,000,000", "3,500"],
    "thousands apart": ["1 200", "12 000 000"],
    "per cent": ["5 %", "7.5 %", "100%"],
    "units": ["12 kg", "3.5 kg", "400 g"],
    "blanks": [" 12", "13 ", "7.5"],
    "brackets": ["(1,200)", "300", "(45)"],
    "with a remark": [*(f"{n},5" for n in range(40)), "n/a"],
    "plain, of many values": [str(n) for n in range(1, 60)],
}
DATES = {
    "ISO and others": ["2024-01-31", "2024-01-31 12:00:00", "2024/02/01"],
    "with zones": ["2024-01-31T12:00:00+02:00", "2024-02-01"],
    "German": ["31.12.2024", "1.1.2025"],
    "American": ["12/31/24", "1/1/25"],
}
TEXT = {
    "towns": ["Oslo", "Rome"],
    "codes": ["01067", "10115", "80331"] + [str(n) for n in range(20000, 20050)],
    "groups": ["1", "2", "3"],
    "house numbers": ["3a", "12b", "7c", "9"],
    "ordinals": ["1st", "2nd", "3rd", "4th"],
    "papers": ["A4", "A3"],
    "ranges": ["1-5", "6-10"],
    "versions": ["1.2.3", "1.10.0"],
    "sentences": ["12 men went", "3 came"],
    "nothing": ["", " "],
    "truth": [True, False],
    "mixed": ["3,5", 4],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_text_that_looks_like_numbers_is_reported(name):
    (found,) = remarks("a", NUMBERS[name], 100)
    assert found.startswith("column 'a' is text that looks like numbers, such as ")
    assert any(repr(one) in found for one in NUMBERS[name])


def test_advice_about_numbers_depends_on_what_keeps_them_from_being_read():
    plain = [str(number / 7) for number in range(100)]
    for levels, advice in (
        (plain, "such as '0.0': convert the column to numbers, for example with pandas.to_numeric"),
        ([*plain, "broken"], "such as '0.0', but for some entries, such as 'broken': leave these empty"),
        ([f"{number} km" for number in plain], "such as '0.0 km': to have them read as numbers, write them like"),
    ):
        (found,) = remarks("a", levels, 1000)
        assert advice in found


@pytest.mark.parametrize("name", DATES)
def test_text_that_looks_like_dates_is_reported(name):
    (found,) = remarks("a", DATES[name], 100)
    assert found.startswith(f"column 'a' is text that looks like dates, such as {DATES[name][0]!r}: ")


@pytest.mark.parametrize("name", TEXT)
def test_ordinary_text_is_not_reported(name):
    assert remarks("a", TEXT[name], 1000) == []


def test_columns_of_identifiers_are_reported():
    names = [f"n{row}" for row in range(60)]
    assert remarks("a", names[:49], 49) == []
    assert remarks("a", names[:30], 60) == []
    (found,) = remarks("a", names[:31], 60)
    assert found == (
        "column 'a' has 31 different texts in 60 rows: if it is an identifier, leave it out with exclude= of "
        "mercer.data.open"
    )


@pytest.mark.parametrize("in_files", [False, True])
def test_a_fit_warns_about_disguised_columns(tmp_path, in_files):
    from mercer import data

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"price": [f"{n / 7:.2f}".replace(".", ",") for n in range(80)], "x": rng.normal(size=80)})
    X["name"] = [f"n{row}" for row in range(80)]
    given: tuple = (X, X["x"])
    if in_files:
        X.assign(y=X["x"]).to_csv(tmp_path / "a.csv", index=False)
        given = (data.open(tmp_path / "a.csv", target="y"),)
    with pytest.warns(UserWarning, match="column") as told:
        KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(*given)
    texts = [str(one.message) for one in told]
    assert sum("column 'price' is text that looks like numbers, such as '0,00'" in text for text in texts) == 1
    assert sum("column 'name' has 80 different texts in 80 rows" in text for text in texts) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
            X[["x"]].assign(town="Oslo"), X["x"]
        )


def test_padded_and_long_text_takes_no_longer_than_it_is(monkeypatch):
    looked_at = []
    monkeypatch.setattr(disguised_text, "NUMBER", Pattern(disguised_text.NUMBER, looked_at))
    assert disguised_text.disguise([" " * 5000 + "free text!", "1," * 5000, "$12.50"]) is None
    assert disguised_text.disguise(["   $12.50 ", " $1,000.00", "$7   "]).startswith("numbers, such as")
    assert max(map(len, looked_at)) <= disguised_text.LONGEST


class Pattern:
    """Records the texts that are matched."""

    def __init__(self, pattern, seen):
        self.pattern, self.seen = pattern, seen

    def fullmatch(self, text):
        self.seen.append(text)
        return self.pattern.fullmatch(text)
