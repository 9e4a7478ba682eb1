"""Passes over the rows of one fit: what they are planned for, who is informed, and what is kept of them."""
