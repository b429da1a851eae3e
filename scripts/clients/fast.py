"""The Python package `fastmcp` as a client."""

import asyncio
import contextlib

import fastmcp
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport

import scenario


class Client:
    def __init__(self, client):
        self.client, self.version = client, client.protocol_version

    async def tools(self):
        return [plain(tool) for tool in await self.client.list_tools()]

    async def call(self, name, arguments):
        return plain(await self.client.call_tool_mcp(name, arguments))

    async def resource(self, uri):
        return (await self.client.read_resource(uri))[0].text


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


@contextlib.asynccontextmanager
async def connect(world, mode, person):
    async def ask(message, _type, params, _context):
        action, content = person.answer(message, params.requested_schema)
        return ElicitResult(action=action, content=content)

    server = StdioTransport(world.program, world.serve(), env=world.environment, cwd=str(world.folder), keep_alive=False)
    async with fastmcp.Client(server, mode=mode, elicitation_handler=ask if person else None) as client:
        yield Client(client)


asyncio.run(scenario.everything("fastmcp", connect))
