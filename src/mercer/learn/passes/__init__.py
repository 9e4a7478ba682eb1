"""Passes over the rows of one fit: what they are planned for, who hears of them, and what is kept of them."""
