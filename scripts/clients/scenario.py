"""What is tried through a client library: one scenario for clients that can ask a person, one for those that cannot."""

import asyncio
import sys

import world as worlds
from world import SORT, check, check_answer, check_ran, check_refused, check_sorted, check_tools, inside, mark

ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}


class Person:
    """Who is asked by the client: answers as told, and remembers what was asked."""

    def __init__(self):
        self.asked, self.action, self.choice = [], "cancel", None

    def says(self, action, choice=None):
        self.action, self.choice = action, choice

    def answer(self, message, schema):
        self.asked.append((message, schema))
        return self.action, {"choice": self.choice} if self.choice else None


async def reading(client, world):
    check_tools(await client.tools())
    result = await client.call("list_skills", {})
    said = check_answer(result)
    names = sorted(skill["name"] for skill in said["skills"])
    check("the skills", names == ["marks", "semver-sort", "text-report"], said)
    loaded = check_answer(await client.call("load_skill", {"skill_name": "text-report"}))
    body = inside(loaded["content"])
    check("the instructions as they are", "# Report on a text" in body and len(loaded["revision"]) >= 64, loaded)
    read = check_answer(await client.call("read_skill_resource", {"skill_name": "semver-sort", "resource_name": "references/order.md"}))
    file = (world.skills / "semver-sort/references/order.md").read_bytes()
    check("a file as it is", inside(read["content"]) in (file.decode(), file.decode().rstrip("\n")) and read["bytes"] == len(file), read)
    check_refused(await client.call("load_skill", {"skill_name": "nobody"}), "E_SKILL_NOT_FOUND")
    outside = {"skill_name": "semver-sort", "resource_name": "../marks/SKILL.md"}
    check("no way out of the skill", (await client.call("read_skill_resource", outside))["isError"])


async def asks(client, world, person):
    """The person is asked by the client."""
    await reading(client, world)
    for number, (action, choice) in enumerate([("decline", None), ("cancel", None), ("accept", "deny")]):
        person.says(action, choice)
        check_refused(await client.call("run_skill_script", mark(f"no {number}")), "E_SKILL_SCRIPT_DENIED")
        check("the person was asked", len(person.asked) == number + 1)
    message, schema = person.asked[0]
    check("the question says what would run", "Run scripts/mark.sh from marks?" in message and "'no 0'" in message, message)
    check("the question says who asks", "Asked by: tried" in message, message)
    choice = schema["properties"]["choice"]
    check("the default is no", choice["default"] == "deny" and choice["enum"] == ["deny", "once"], schema)
    check("nothing ran", world.marks() == [], world.marks())
    world.check_record(0)

    person.says("accept", "once")
    said = check_ran(await client.call("run_skill_script", mark("yes")))
    check("its output", inside(said["stdout"]["content"]).strip() == "marked --text yes", said)
    check("it ran once", world.marks() == ["--text yes"], world.marks())
    check("the person was asked once", len(person.asked) == 4)
    check("the change is on record", [one["path"] for one in said["files_applied"]] == [str(world.work / "log")], said)
    receipt = world.ask("receipt", said["receipt"])["receipt"]
    check("the receipt says which way the yes came", "elicitation" in str(receipt), receipt)
    check_ran(await client.call("run_skill_script", mark("yes")))
    check("the same call is asked about again", len(person.asked) == 5)
    person.says("decline")
    check_refused(await client.call("run_skill_script", mark("yes")), "E_SKILL_SCRIPT_DENIED")
    check("and again", len(person.asked) == 6)
    check("two ran", world.marks() == ["--text yes"] * 2, world.marks())

    check_refused(await client.call("call_skill_tool", SORT), "E_SKILL_SCRIPT_DENIED")
    person.says("accept", "once")
    # Another order is another call: the no stands for the first.
    other = {"versions": SORT["arguments"]["versions"][::-1]}
    check_sorted(await client.call("call_skill_tool", {**SORT, "arguments": other}))
    world.check_record(3)
    check("no request is left", world.pending() == [])


async def cannot(client, world):
    """The person is at a terminal beside it."""
    await reading(client, world)
    call = mark("later", 20000)
    parked = check_refused(await client.call("run_skill_script", call), "E_CONSENT_PENDING")
    check("it says that approval is required", parked["status"] == "approval_required" and parked["expires_unix_ms"] > 0, parked)
    request = parked["approval_id"]
    check("the request lies at the machine", world.pending() == [request])
    same = check_refused(await client.call("run_skill_script", call), "E_CONSENT_PENDING")
    check("the same call is the same request", same["approval_id"] == request, same)
    check("nothing ran", world.marks() == [], world.marks())
    world.check_record(0)
    await asyncio.to_thread(world.approve, request)
    said = check_ran(await client.call("run_skill_script", call))
    check("it ran once", world.marks() == ["--text later --lines 20000"], world.marks())
    await by_handle(client, said)
    again = check_refused(await client.call("run_skill_script", call), "E_CONSENT_PENDING")
    check("the same call is asked about again", again["approval_id"] != request, again)
    await asyncio.to_thread(world.deny, again["approval_id"])
    check_refused(await client.call("run_skill_script", call), "E_SKILL_SCRIPT_DENIED")
    check("it ran once", len(world.marks()) == 1, world.marks())

    parked = check_refused(await client.call("call_skill_tool", SORT), "E_CONSENT_PENDING")
    await asyncio.to_thread(world.approve, parked["approval_id"])
    check_sorted(await client.call("call_skill_tool", SORT))
    world.check_record(2)


async def by_handle(client, said):
    """A result that is more than an answer holds."""
    whole = "marked --text later --lines 20000\n" + "".join(f"{n}\n" for n in range(1, 20001))
    out = said["stdout"]
    check("it is clipped and says so", out["clipped"] and out["bytes"] == len(whole), {**out, "content": None})
    artifact = {"artifact": out["artifact"]}
    check_tools(await client.tools(), artifacts=True)
    tail = check_answer(await client.call("artifact_tail", {**artifact, "lines": 2}))
    check("its end, by handle", inside(tail["content"]).split() == ["19999", "20000"], tail)
    size = check_answer(await client.call("artifact_byte_length", artifact))
    check("its size, by handle", size["byte_length"] == len(whole) and size["line_count"] == 20001, size)
    found = check_answer(await client.call("artifact_grep", {**artifact, "pattern": "^1234.$"}))
    check("a search of it", found["hits"] == 10, found)
    check("all of it, by link", await client.resource(f"fumehood://artifact/{out['artifact']}") == whole)


async def everything(library, connect):
    """Both scenarios, in both eras or in the ones that are named on the command line."""
    for mode in sys.argv[1:] or ERAS:
        version = ERAS[mode]
        for can_ask in (True, False):
            person = Person() if can_ask else None
            name = f"{library}, {version}, {'asks' if can_ask else 'cannot ask'}"
            with worlds.case(name) as world:
                async with connect(world, mode, person) as client:
                    check("the revision", client.version == version, client.version)
                    await (asks(client, world, person) if can_ask else cannot(client, world))
    worlds.end()
