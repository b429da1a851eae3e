"""The Python package `mcp` as a client."""

import asyncio
import contextlib

import mcp
import mcp_types as types

import scenario


class Client:
    def __init__(self, client):
        self.client, self.version = client, client.protocol_version

    async def tools(self):
        listed = await self.client.list_tools()
        return [plain(tool) for tool in listed.tools]

    async def call(self, name, arguments):
        return plain(await self.client.call_tool(name, arguments))

    async def resource(self, uri):
        return (await self.client.read_resource(uri)).contents[0].text


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


@contextlib.asynccontextmanager
async def connect(world, mode, person):
    async def ask(_context, params):
        action, content = person.answer(params.message, params.requested_schema)
        return types.ElicitResult(action=action, content=content)

    server = mcp.StdioServerParameters(command=world.program, args=world.serve(), env=world.environment, cwd=world.folder)
    async with mcp.Client(server, mode=mode, elicitation_callback=ask if person else None) as client:
        yield Client(client)


asyncio.run(scenario.everything("mcp", connect))
