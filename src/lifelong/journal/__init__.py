"""What people read: the journal, how it stays small, and the notes that workers keep. Read in this order:

records          a line of the journal: a record, or what a person wrote
pages            the files, and how they are written so that nothing is lost
journal          appends to them and reads them
progress         the rows: which turns are in the journal, and what ran when
summaries        a completed turn becomes a line, exactly once
context          what of it opens a session
findable         what of it can be found

specifics        the words that must not be told otherwise: numbers, names, dates, negations
kernels          how little can be told of a clause
condense         many records in few words, by rule
merging          what a compaction merges, and whether anything would be lost
longmemory       LONGMEMORY.md, a block a compaction
compaction       all of that, on the files
schedule         when it runs
continuity       the journal of a user, put together

note_files       notes as files
note_compaction  notes that became too many
notes            what a worker keeps from job to job
tools            what an agent may call of it
"""
