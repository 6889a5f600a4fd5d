"""The offline organizer: it quotes what deserves to last and files it by subject, without a model or a network.

organizer      a transcript in, edits of a draft out
subjects       who speaks, to whom, and whom and what it is about
worth          whether a sentence deserves to last
quotes         the sentences that are quoted, word for word
filing         which document each quote goes to, what it repeats, and what it ends (`text.changes`)
consolidation  what the rules merge, move and split when documents are consolidated
"""
