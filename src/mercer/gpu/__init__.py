"""Arithmetic on a device, by torch: where arrays live, how they get there, and products, factors and kernel blocks.

Nothing here is imported before somebody asks for a device, and torch itself no sooner than that.
"""
