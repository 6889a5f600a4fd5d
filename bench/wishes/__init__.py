"""Fits how `organize/rules` tells a wish that lasts from a request for now, and writes the weights: `make judge`.

Each file beside holds what some people say to an assistant, a sentence a line, and what kind it is: `standing` (to
hold from now on), `once` (for the work at hand), `telling` (asks for nothing) or `chatter` (idioms, courtesies).
Nothing is fitted to the two that are called unseen. What the judge's pairs say (`bench/judge`) is all telling.
"""
