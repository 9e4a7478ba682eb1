"""The rows of a fit as solvers use them: prepared, and as a matrix of features with its products."""
