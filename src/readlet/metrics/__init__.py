"""Official scores, what they hide, and whether a difference between two of them is real."""
