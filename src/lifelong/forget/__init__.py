"""4. Forget: what must go, and what goes along.

tables     every table of the database: whose its rows are, and whether they can be made again
export     everything of a user in an open folder; import_user reads it back, export_format is what both know
backups    what a backup holds beside the rows, and which were made
audit      what should not be there: duplicates, contradictions, stale plans, secrets, and how to fix each
scan       secrets that an older version stored: where they are, and how they are taken out
erasure    forget records, facts, documents, sessions, agents, people, users: what goes, and what is made again
retention  forget by age, by schedule
"""
