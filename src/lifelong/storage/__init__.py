"""Pick one, where rows live: `sqlite` (embedded, the default) or `postgres`. The seam is in `base`; `gather` lets
those who write at once share a commit."""
