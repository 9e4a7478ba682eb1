"""What a fit will take of memory and of time, told before it does."""
