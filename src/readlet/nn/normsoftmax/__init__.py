"""NormSoftmax (2022): softmax of scores divided by their standard deviation."""
