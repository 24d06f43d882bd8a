"""QACNNnet: a small word-level reader of convolutions and attention."""
