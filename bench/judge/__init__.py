"""Fits the judge of `organize/rules`, and writes its weights: `make fit-rules`.

`pairs/` holds some 14,000 pairs: what somebody said, what they said some weeks later, and whether the newer
statement takes the older one's place; a file for each writer or subject. `streams/` holds what people say over
months, and which few of these statements replace which. `scenes/` holds some 2,700 things that are said in five to
seven ways, and then what ends each of them and what ends none. All of it goes through the same finder as a talk.
How well the judge does on each writer is printed: fitted to the others. What that may prove is in `bench/DATA.md`.
"""
