"""One scale per column, learned from the rows."""
