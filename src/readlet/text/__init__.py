"""Text to integers: words and characters with their offsets in the original text."""
