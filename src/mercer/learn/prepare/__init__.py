"""From user data to rows of numbers: levels, dates, missing values and scales of columns."""
