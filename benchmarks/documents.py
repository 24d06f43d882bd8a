"""Questions about collections of 10, 100 and 1,000 documents: what is fitted, and how good it is.

python benchmarks/documents.py evidence --questions A --from B --out FILE
"""
