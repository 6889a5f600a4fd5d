"""The files people read: the journal, its compaction, and the notes that workers keep."""
