"""Vectors: where the nearest ones are searched: `local` (rows in the database), `chroma` or `pgvector`."""
