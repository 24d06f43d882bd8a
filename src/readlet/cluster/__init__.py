"""One job for each of many files, on one machine or on a Ray cluster."""
