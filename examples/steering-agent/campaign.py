"""The tools of a campaign, as far as the agent needs them."""


class Refused(Exception):
    """A tool refused a call; its code and message say why, its details say the same to programs."""

    def __init__(self, message, details=None):
        super().__init__(message)
        self.details = details or {}


class Campaign:
    def __init__(self, client):
        self.client = client

    async def call(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        answer = result.structured_content
        if result.is_error:
            error = answer["error"]
            raise Refused(f"{tool}: {error['code']}: {error['message']}", error["details"])
        return answer

    async def target(self):
        target = await self.call("campaign_target")
        major = target["protocolVersion"].split(".")[0]
        if major != "1":
            raise Refused(f"these tools are of version {major}, and this agent knows version 1")
        return target

    async def status(self):
        return await self.call("campaign_status")

    @staticmethod
    def is_over(status):
        open_tests = [test for test in status["tests"] if test["state"] in ("holds", "maximizing")]
        return status["state"] == "ended" or not open_tests

    @staticmethod
    def outcome(status):
        failed = [test["name"] for test in status["tests"] if test["state"] in ("failed", "shrinking")]
        return f"failed: {', '.join(failed)}" if failed else "nothing failed"

    async def lines(self, target):
        """All lines of the sources of the contracts on the chain, by file."""
        files = {}
        for file in {contract["source"] for contract in target["contracts"]}:
            lines, begin = [], 1
            while True:
                page = await self.call("show_source_coverage", file=file, **{"from": begin})
                lines += page["lines"]
                begin = page["to"] + 1
                if begin > page["totalLines"]:
                    break
            files[file] = lines
        return files

    async def pause(self):
        await self.control("pause_campaign")

    async def resume(self):
        await self.control("resume_campaign")

    async def prioritise(self, signatures):
        await self.control("clear_priorities")
        for signature in signatures:
            await self.control("prioritize_function", functionSignature=signature)

    async def inject(self, sequence):
        """Gives the calls to all workers."""
        await self.control("inject_transaction", sequence=list(sequence))

    async def control(self, tool, **arguments):
        """A command; one that comes too late is no failure."""
        try:
            return await self.call(tool, **arguments)
        except Refused as refused:
            if refused.details.get("state") == "ended":
                return None
            raise
