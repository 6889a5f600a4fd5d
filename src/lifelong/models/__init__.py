"""Pick one: who thinks, who embeds, and what it costs."""
