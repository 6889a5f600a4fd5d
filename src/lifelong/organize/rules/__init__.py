"""The offline organizer: it finds durable statements by rule, and files them. No model, no network.

organizer       a transcript in, edits of a draft out

statements  what deserves to last of a transcript:
voices        who speaks to whom
sentences     what was said, sentence by sentence; `tongues` those in other languages than English
questions     a short answer and what was asked
intents       whether a person asks an assistant for something, or tells, as learned (`intents.json`)
wishes        what is asked for once and for all
leaning       whom "she" means
dates         when "last Saturday" was
speakers      who "I" and "you" are
worth         what is worth keeping, by `words` and `deeds`
gist          the best of a record in one fact
subjects      whom and what it is about

filing      where each statement goes, on which page, and what it repeats or ends:
conflicts     whether two facts say the same, or one ends the other
reading       what is seen of a fact: `stems`, `domains`
features      what two facts have in common
judging       what that means, as learned (`judge.bin`)
"""
