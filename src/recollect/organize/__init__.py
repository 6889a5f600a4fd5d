"""2: what deserves to last.

worker   what runs in the background, tick by tick
"""
