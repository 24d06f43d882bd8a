"""From scores to predictions: decoding, windows joined, calibration, and the Reader."""
