"""What is wrong with the data, before an hour is spent on it; and the repair of it."""
