"""Stage 2, organize: what deserves to last.

worker         the background thread: it runs rounds
dispatch       a marked session becomes a transcript in the inbox of its memory-agent
inbox          the transcripts: leases, attempts, dead letters
memory_agent   an inbox item becomes a changeset: an organizer edits a draft, and all of it is committed
health         how far a record has come, and whether the background work is healthy

organizer      what an organizer is: `rules/` (offline) or `llm` (a model)
write_policy   what no organizer may write
facts          how knowledge is written in a document, and the index of facts

documents      the documents of a user, as they are and as they were: `Memory.documents`
draft          edits that are not committed, and the rules that documents keep
changesets     how edits are committed and undone
document_rows  the rows of documents, their references and changesets
tools          the document tools for models and agents
"""
