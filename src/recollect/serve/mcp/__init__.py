"""The memory for clients of the Model Context Protocol: one server, over stdio and over streamable HTTP.

run_stdio("~/.recollect")                        # what `recollect mcp` does, until the client goes

endpoint = http_app(memories)                    # within an app that serves more
app.router.routes.append(Route("/mcp", endpoint))
async with endpoint.run(): ...                   # in the app's lifespan
"""

from recollect.serve.mcp.definition import server
from recollect.serve.mcp.transports import Endpoint, http_app, run_stdio

__all__ = ["Endpoint", "http_app", "run_stdio", "server"]
