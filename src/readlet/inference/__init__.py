"""From scores to predictions: decoding, joining of windows, calibration, and the Reader."""
