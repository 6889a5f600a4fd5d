"""The tables, step by step, in the order in which they were needed: a file for each phase."""
