"""Adapters: lifelong behind the memory interfaces of agent frameworks, one module each. Nothing is imported here,
so that a framework is needed by its own module alone."""
