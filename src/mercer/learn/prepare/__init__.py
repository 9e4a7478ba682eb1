"""From what users have to rows of numbers: levels, dates, gaps and scales of columns."""
