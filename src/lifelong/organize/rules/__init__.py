"""The offline organizer: it finds durable statements by rule and files them, without a model or a network.

organizer     a transcript in, edits of a draft out
statements    what of a transcript deserves to last, with
  speakers      who speaks, to whom and about whom
  sentences     what a sentence says without its trimmings
  requests      standing requests, requests for now, and questions with short answers
  third_person  "I", "you" and "she" replaced by names
  salience      what is worth keeping, and what kind of knowledge it is
filing        which document each statement goes to, and what it repeats or ends, with
  conflicts     whether a newer fact repeats or supersedes an older one (weights: `judge.bin`)
  features      what two facts have in common

`intents.json` holds the weights for `requests`.
"""
