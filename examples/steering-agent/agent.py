"""Watches a fuzz campaign over MCP and steers it, without any model.

    pip install -r requirements.txt
    vouch fuzz Token.sol --mcp-port 8378        # in another terminal
    VOUCH_TOKEN="$(vouch token)" python agent.py http://127.0.0.1:8378/mcp

The agent reads the source together with its coverage. It finds the conditions with only one covered branch, the variables
in these conditions and in the properties, and the functions that change these variables. It prioritizes those functions
and injects calls with the numbers from the conditions, and their neighbors, as arguments.
"""

import argparse
import asyncio
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from campaign import Campaign, ToolRefusedError
from source import SourceAnalysis


async def steer_campaign(campaign, interval, report):
    """Observes and steers until every test has failed or the campaign has ended."""
    target = await campaign.get_target()
    injected = set()
    while not campaign.is_over(status := await campaign.get_status()):
        # Pause, so that the coverage does not change during the analysis.
        await campaign.pause()
        try:
            source = SourceAnalysis(await campaign.read_lines(target), target)
            functions = source.find_relevant_functions()
            if functions and functions != status["prioritizedFunctions"]:
                await campaign.prioritize_functions(functions)
                report(f"{status['calls']} calls: prioritized {', '.join(functions)}")
            for sequence in source.build_boundary_calls(functions):
                if sequence not in injected:
                    injected.add(sequence)
                    await campaign.inject_sequence(sequence)
        finally:
            # Resume the campaign even after an error.
            await campaign.resume()
        await asyncio.sleep(interval)
    report(f"{status['calls']} calls: {campaign.describe_outcome(status)}")


def connect(url):
    """Returns a client for the server at this URL. VOUCH_TOKEN holds the token that `vouch token` prints."""
    token = os.environ.get("VOUCH_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    # A response stream may stay open for minutes.
    http = httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=300))
    return Client(streamable_http_client(url, http_client=http))


async def main():
    arguments = argparse.ArgumentParser(description="Steer a fuzz campaign of vouch over MCP.")
    arguments.add_argument("url", help="URL of the campaign, such as http://127.0.0.1:8378/mcp")
    arguments.add_argument("--every", type=float, default=1.0, help="seconds between two rounds")
    arguments.add_argument("--quiet", action="store_true", help="print only errors")
    arguments = arguments.parse_args()
    report = (lambda _: None) if arguments.quiet else (lambda text: print(text, flush=True))
    is_connected = False
    try:
        async with connect(arguments.url) as client:
            campaign = Campaign(client)
            await campaign.get_status()
            is_connected = True
            await steer_campaign(campaign, arguments.every, report)
    except Exception as error:
        if refused := find_refusal(error):
            sys.exit(f"error: {refused}")
        # The server of `vouch fuzz` ends with its campaign, even during a request.
        if not is_connected:
            raise
        report("the server ended together with its campaign")


def find_refusal(error):
    """Returns the refusal of a tool, which the connection may wrap into exception groups, or None."""
    if isinstance(error, ToolRefusedError):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next(filter(None, map(find_refusal, inner)), None)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(130)
