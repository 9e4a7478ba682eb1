"""The pilot: trials on a few thousand rows that choose what a learner leaves open."""
