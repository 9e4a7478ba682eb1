"""What finds coefficients: from moments, or step by step over the features."""
