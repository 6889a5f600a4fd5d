"""Memory for agent frameworks, a module for each. A framework is imported only with its module."""
