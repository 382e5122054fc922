"""FastMCP's proxy as its documentation starts it: a URL or an `mcpServers` object, and the port to listen on."""

import json
import sys

from fastmcp.server import create_proxy

target, port = sys.argv[1:]
proxy = create_proxy(json.loads(target))
proxy.run(transport="http", host="127.0.0.1", port=int(port), log_level="error", show_banner=False)
