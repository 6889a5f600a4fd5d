"""The journal: files that people read and edit, how they stay small, and the notes that workers keep.

records          the lines of a journal file: records, and what a person wrote
files            the files, and how they are written so that nothing is lost
service          `memory.journal`: append, remember, read, compact
rows             which turns are in the journal, and when scheduled work ran
turn_summaries   a completed turn becomes a line, exactly once
session_context  what of the journal opens a session
indexing         what of the journal and of notes can be searched

summarize        whole sentences of many records, by rule
model_text       a model's text in place of a longer one, and whether it may be used
compaction       old records of MEMORY.md become summaries, there and in LONGMEMORY.md
schedule         when compaction and extraction run

notes            what a worker keeps from job to job
tools            what an agent may call
"""
