"""Storage: where rows are kept, in `sqlite` (embedded, the default) or `postgres`. The protocol is in `base`;
`group_commit` lets concurrent writers share a commit."""
