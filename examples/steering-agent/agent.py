"""Watches a fuzz campaign over MCP and steers it, without any model.

    pip install -r requirements.txt
    vouch fuzz Token.sol --mcp-port 8378        # in another terminal
    python agent.py http://127.0.0.1:8378/mcp

What it does is what a person would do who reads the source beside the coverage: it finds the conditions that only ever went one
way, the variables in them and in the properties, and the functions that change those variables. These it prioritises, and it
injects the numbers that stand in the conditions, and their neighbours, as arguments.
"""

import argparse
import asyncio
import sys

from mcp import Client

from campaign import Campaign, Refused
from source import Source


async def steer(campaign, every, report):
    """Looks and steers until every test has failed or the campaign is over."""
    target = await campaign.target()
    injected = set()
    while not campaign.is_over(status := await campaign.status()):
        # What is thought about while the campaign runs has changed before it is thought through.
        await campaign.pause()
        try:
            source = Source(await campaign.lines(target), target)
            wanted = source.functions_that_matter()
            if wanted and wanted != status["prioritizedFunctions"]:
                await campaign.prioritise(wanted)
                report(f"{status['calls']} calls: prioritised {', '.join(wanted)}")
            for sequence in source.boundaries(wanted):
                if sequence not in injected:
                    injected.add(sequence)
                    await campaign.inject(sequence)
        finally:
            # Whatever happens here, the campaign goes on.
            await campaign.resume()
        await asyncio.sleep(every)
    report(f"{status['calls']} calls: {campaign.outcome(status)}")


async def main():
    arguments = argparse.ArgumentParser(description="Steers a fuzz campaign of vouch over MCP.")
    arguments.add_argument("url", help="where it is served, such as http://127.0.0.1:8378/mcp")
    arguments.add_argument("--every", type=float, default=1.0, help="seconds between two looks")
    arguments.add_argument("--quiet", action="store_true", help="say nothing but errors")
    arguments = arguments.parse_args()
    report = (lambda _: None) if arguments.quiet else (lambda text: print(text, flush=True))
    has_begun = False
    try:
        async with Client(arguments.url) as client:
            campaign = Campaign(client)
            await campaign.status()
            has_begun = True
            await steer(campaign, arguments.every, report)
    except Exception as error:
        if refused := refusal(error):
            sys.exit(f"error: {refused}")
        # The server of `vouch fuzz` goes with its campaign, in the middle of whatever is asked.
        if not has_begun:
            raise
        report("the server is gone, and the campaign with it")


def refusal(error):
    """What a tool refused, which the connection wraps into groups of exceptions."""
    if isinstance(error, Refused):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next(filter(None, map(refusal, inner)), None)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(130)
