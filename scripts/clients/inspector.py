"""The command line of the MCP Inspector as a client: one process and one server for each request. It never says that it can ask."""

import asyncio
import json
import os
import subprocess

import scenario
import world as worlds
from world import check, check_answer, check_refused, mark

TOOL_FAILED = 5


class Client:
    def __init__(self, world, era):
        self.world, self.era = world, era

    def run(self, *arguments, status=0):
        """The answer to one request, and what was written beside it."""
        command = ["mcp-inspector", "--cli", "--protocol-era", self.era, "--format", "json", *arguments]
        command += ["--", self.world.program, *self.world.serve()]
        environment = {**self.world.environment, "PATH": os.environ["PATH"]}
        done = subprocess.run(command, env=environment, cwd=self.world.folder, capture_output=True, text=True, timeout=worlds.PATIENCE)
        check(f"it ends with {status}", done.returncode == status, [arguments, done.returncode, done.stdout, done.stderr])
        return json.loads(done.stdout)["result"], done.stderr

    async def tools(self):
        listed, said = self.run("--method", "tools/list", "--strict")
        check("no schema is hard for any client", "Warning" not in said and "Error" not in said, said)
        return listed["tools"]

    async def call(self, name, arguments, *more, status=None):
        command = ["--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments), *more]
        if status is None:
            status = TOOL_FAILED if self.fails(name, arguments) else 0
        return self.run(*command, status=status)[0]

    @staticmethod
    def fails(name, arguments):
        return name == "run_skill_script" or arguments.get("skill_name") == "nobody" or arguments.get("resource_name", "").startswith("..")


async def one(client, world):
    await scenario.reading(client, world)
    parked = check_refused(await client.call("run_skill_script", mark("a")), "E_CONSENT_PENDING")
    check("it says that approval is required", parked["status"] == "approval_required", parked)
    check("a request goes with whoever made it", world.pending() == [])
    flood = await client.call("list_skills", {}, "--load", "--load-concurrency", "8", "--load-requests", "200", status=0)
    check("a flood of calls is answered", (flood["ok"], flood["toolErrors"], flood["errors"]) == (200, 0, 0), flood)
    flood = await client.call("run_skill_script", mark("b"), "--load", "--load-concurrency", "8", "--load-requests", "100", status=0)
    check("a flood of runs is refused", (flood["ok"], flood["toolErrors"], flood["errors"]) == (0, 100, 0), flood)
    check("nothing ran", world.marks() == [], world.marks())
    world.check_record(0)
    check("it serves as before", len(check_answer(await client.call("list_skills", {}))["skills"]) == 3)


for era, version in {"legacy": "2025-11-25", "modern": "2026-07-28"}.items():
    with worlds.case(f"mcp-inspector --cli, {version}") as its_world:
        asyncio.run(one(Client(its_world, era), its_world))
worlds.end()
