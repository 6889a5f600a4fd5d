"""The offline brain: it finds durable statements by rule, and files them. No model, no network.

brain       a transcript in, edits of a draft out

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
gist          the best of a record in one claim
subjects      whom and what it is about

filing      where each statement goes, on which page, and what it repeats or ends:
conflicts     whether two claims say the same, or one ends the other
reading       what is seen of a claim: `stems`, `domains`
features      what two claims have in common
judging       what that means, as learned (`judge.bin`)
"""
