"""One vector space for several languages: alignment, retrieval, merged files."""
