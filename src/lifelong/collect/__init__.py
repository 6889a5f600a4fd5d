"""1: what was said. Read in this order:

descriptors  who an agent is: a tagged union, and what follows from the kind alone
agents       the agents' rows: one a descriptor, their state and their deadlines
sessions     the sessions' rows: stretches of history, and the marks on what waits to be organized
history      the records' rows: written once, read after an id
turns        how turns come in: append, end_turn, reset, compact_context
lifecycle    how agents fall asleep, wake and die
transcript   how a stretch of history reads
"""
