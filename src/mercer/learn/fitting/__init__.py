"""Fits of one machine to one table: by a loss on features, on landmarks, exactly, or along a path of penalties."""
