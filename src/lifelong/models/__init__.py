"""Models: chat models, embedders, and what they cost."""
