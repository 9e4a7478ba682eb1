"""What a fitted learner remembers of its training rows: the region they fill, and how to know them again."""
