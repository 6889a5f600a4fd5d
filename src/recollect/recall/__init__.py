"""3. What comes back: everything that is known can be found, by words, by meaning, and by who said it when.

filing      what was said, and what was made of it, becomes items that can be found
items       their rows, and the words they hold
words       what the index sees of a text
indexing    vectors, made in the background
shelf       the items of one profile in memory, ready to be compared
periods     the time a question speaks of
question    what a question asks for
ranking     how well an item answers it
search      a question in, hits out
log         what was asked, and what came back
behind      rows that nobody waits for
opinions    what people said of items: verdicts, pins, corrections
upkeep      what a person can do about what is remembered
relations   how people and things are related, and what says so
uniqueness  whether two texts tell the same experience
measures    the signs and units of numbers
opposites   words that are opposites, and words that mean the same
experiences the store of them; extraction fills it from the journal, experience_vectors finds in it by meaning
injection   what a turn begins with
"""
