"""Pick one, who finds what is near: `local` (rows in the database), `chroma`, `pgvector`."""
