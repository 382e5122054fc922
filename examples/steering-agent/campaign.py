"""Calls the campaign tools that the agent needs."""


class ToolRefusedError(Exception):
    """A tool refused a call. The message contains the error code; `details` is for programs."""

    def __init__(self, message, details=None):
        super().__init__(message)
        self.details = details or {}


class Campaign:
    """A fuzz campaign behind an MCP client."""

    def __init__(self, client):
        self.client = client

    async def call_tool(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        answer = result.structured_content
        if result.is_error:
            error = answer["error"]
            raise ToolRefusedError(f"{tool}: {error['code']}: {error['message']}", error["details"])
        return answer

    async def get_target(self):
        target = await self.call_tool("campaign_target")
        major = target["protocolVersion"].split(".")[0]
        if major != "2":
            raise ToolRefusedError(f"unsupported protocol version {major}: this agent supports version 2")
        return target

    async def get_status(self):
        return await self.call_tool("campaign_status")

    @staticmethod
    def is_over(status):
        settled = ("failed", "shrinking", "not-run")
        open_tests = [test for test in status["tests"] if test["state"] not in settled]
        return status["state"] == "ended" or not open_tests

    @staticmethod
    def describe_outcome(status):
        failed = [test["name"] for test in status["tests"] if test["state"] in ("failed", "shrinking")]
        unknown = ("only-reverted", "never-called", "not-run")
        unexercised = [test["name"] for test in status["tests"] if test["state"] in unknown]
        outcome = f"failed: {', '.join(failed)}" if failed else "no test failed"
        return f"{outcome}; not exercised: {', '.join(unexercised)}" if unexercised else outcome

    async def read_lines(self, target):
        """Returns all source lines of the deployed smart contracts, by file."""
        files = {}
        for file in {contract["source"] for contract in target["contracts"]}:
            lines, start = [], 1
            while True:
                page = await self.call_tool("show_source_coverage", file=file, **{"from": start})
                lines += page["lines"]
                start = page["to"] + 1
                if start > page["totalLines"]:
                    break
            files[file] = lines
        return files

    async def pause(self):
        await self.send_command("pause_campaign")

    async def resume(self):
        await self.send_command("resume_campaign")

    async def prioritize_functions(self, signatures):
        await self.send_command("clear_priorities")
        for signature in signatures:
            await self.send_command("prioritize_function", functionSignature=signature)

    async def inject_sequence(self, sequence):
        """Sends the calls to all workers."""
        await self.send_command("inject_transaction", sequence=list(sequence))

    async def send_command(self, tool, **arguments):
        """Calls a tool; returns None if the campaign has already ended."""
        try:
            return await self.call_tool(tool, **arguments)
        except ToolRefusedError as error:
            if error.details.get("state") == "ended":
                return None
            raise
