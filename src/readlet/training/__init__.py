"""From a recipe to a trained model: the only room that knows both engine and reading."""
