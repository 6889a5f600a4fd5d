"""Text: what every stage needs of language.

sentences    text split into sentences and clauses
words        words, stop words, negations, numbers; what a word is worth
stems        stems, synonyms, opposites
names        names in a text, and what kind each of its words is
dates        months, weekdays, and relative dates made absolute ("yesterday" in a record)
time_ranges  the time a question asks about ("last week")
languages    sentences in other languages than English

It imports nothing of lifelong, and every stage may import it.
"""
