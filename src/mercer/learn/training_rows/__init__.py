"""The facts that a fitted learner remembers about its training rows: their region, and how to recognise them."""
