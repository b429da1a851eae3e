"""`mcpdo` of the MCP Inspector as a client: one connection, and a command for each request and for each answer to a question."""

import asyncio
import contextlib
import json
import os
import subprocess

import scenario
import world as worlds
from world import check


class Client:
    def __init__(self, world, mode, person):
        self.world, self.person = world, person
        era = "legacy" if mode == "legacy" else "modern"
        elicit = "form" if person else "off"
        self.run("connect", "--era", era, "--elicit", elicit, "--connection", "c", "--", world.program, *world.serve())
        self.version = self.run("--connection", "c", "connections/show")["protocolVersion"]

    def run(self, *arguments):
        environment = {**self.world.environment, "PATH": os.environ["PATH"], "MCP_INSPECTOR_SECRET_STORE": "memory"}
        done = subprocess.run(["mcpdo", "--format", "json", *arguments], env=environment, cwd=self.world.folder, capture_output=True,
                              text=True, timeout=worlds.PATIENCE)
        # A tool that says no ends the command with an error, and its answer is there all the same.
        check(f"{arguments[:3]} answers", done.stdout.startswith("{"), [done.returncode, done.stdout, done.stderr])
        return json.loads(done.stdout)

    async def tools(self):
        return self.run("--connection", "c", "tools/list")["tools"]

    async def call(self, name, arguments):
        answer = self.run("--connection", "c", "tools/call", name, "--tool-args-json", json.dumps(arguments))
        while question := answer.get("elicitationPending"):
            check("who cannot be asked is not", self.person is not None, question)
            action, content = self.person.answer(question["message"], question["requestedSchema"])
            how = {"accept": json.dumps(content), "decline": "--decline", "cancel": "--cancel"}[action]
            answer = self.run("elicitation/respond", question["elicitationId"], how)
        return answer

    async def resource(self, uri):
        return self.run("--connection", "c", "resources/read", uri)["contents"][0]["text"]


@contextlib.asynccontextmanager
async def connect(world, mode, person):
    try:
        yield (client := Client(world, mode, person))
        client.run("disconnect", "@c")
    finally:
        subprocess.run(["mcpdo", "daemon", "stop"], env={**world.environment, "PATH": os.environ["PATH"]}, timeout=worlds.PATIENCE,
                       check=False, capture_output=True)


asyncio.run(scenario.everything("mcpdo", connect))
