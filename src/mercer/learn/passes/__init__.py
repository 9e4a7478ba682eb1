"""Passes over the rows of one fit: their purpose, their progress, and what is kept of them."""
