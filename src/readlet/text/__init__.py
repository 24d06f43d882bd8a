"""Text to integers: words and characters with the place of each in the original text."""
