"""Finding the answer of a question again after its context was translated."""
