"""Stage 1, collect: what was said.

descriptors    who an agent is: a tagged union, and what follows from the kind alone
agents         the agents' rows: one for each descriptor, their state and their deadlines
sessions       the sessions' rows, and the marks on those that wait to be organized
history        the records' rows: written once, read after an id
messages       messages of OpenAI, Anthropic, LangChain and Pydantic AI become records, with
  message_parts  the parts of a message: text, files, tool calls and results
recorder       append, end_turn, reset, compact_context: each call is one transaction
lifecycle      how agents fall asleep, wake and die
transcript     records as Markdown, for a person or a model to read
"""
