"""2: what deserves to last.

worker         what runs in the background, tick by tick
handover       a marked session becomes an item of its memory-agent's inbox
inbox          the items: leases, attempts, dead letters
memory_agents  an item becomes a changeset: an organizer edits a draft, and all of it lands
health         where a record is on its way, and whether the way is free

organizer          what decides what deserves to last: `rules/` (offline) or `llm` (a model)
facts         how knowledge stands in a document
guard          what no organizer may do

tree           the documents of a user, as they are and as they were
draft          edits that have not landed, with the rules of `edits`
changesets     how they land, and how they are undone, with `differences`
documents      the rows; `leads`: where to find what is known about something
tools          the documents as tools for any agent
"""
