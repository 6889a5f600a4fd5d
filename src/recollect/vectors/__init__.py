"""Pick one: who finds what is near."""
