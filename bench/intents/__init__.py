"""Fits how `organize/rules` tells what is asked of an assistant from what is told: `make fit-rules`.

Each file beside holds what some people say to an assistant, a sentence a line, and what kind it is: `standing` (to
hold from now on), `once` (for the work at hand), `telling` (asks for nothing) or `chatter` (idioms, courtesies).
Nothing is fitted to the two that are called development. The judge's pairs (`bench/judge`) are all telling.
What the figures may prove is in `bench/DATA.md`.
"""
