"""Stage 3, recall: everything that is known can be found by words, by meaning, by speaker and by time.

analyzer            the stems and flags of a text
items               what can be found: rows, words, ids
index_state         whose vectors are in use, and which items wait for theirs
ends, feedback      what has ended, and what people said about items
index_writer        records, documents and files become items
index_worker, repair  vectors in the background; damage, rebuild, verify
candidates          the items that may answer a question, with what ranking needs
query, ranking      what a question asks for, and how well an item answers it
search              a question in, hits out
context, tools      what an agent gets before its turn, and by its tools
curation            list, correct, pin, feedback
experience_rows, experiences, dedup   experiences, each stored once
relations           how entities are related
recall_log          what was asked, and what came back
"""
