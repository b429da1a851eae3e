"""What every kind of client is tried against: a home, skills and a folder of its own for each, the real program, and a person at a terminal."""

import contextlib
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 60

MARK = """#!/bin/sh
echo "$*" >>'{log}'
echo "marked $*"
if [ "${{3-}}" = --lines ]; then seq "$4"; fi
"""

DECLARED = {
    "schemaVersion": 1,
    "scripts": [{
        "name": "mark",
        "path": "scripts/mark.sh",
        "description": "Leaves a mark.",
        "interpreter": "sh",
        "params": [
            {"name": "text", "type": "string", "flag": "--text", "description": "What to leave."},
            {"name": "lines", "type": "integer", "minimum": 1, "maximum": 100000, "flag": "--lines", "description": "Lines to print."},
        ],
    }],
}


class World:
    """A scratch home with three skills: two examples of the repository, and one whose script leaves a line in a log each time it runs."""

    def __init__(self):
        # Below /var/tmp, which no script sees: the sandbox has a /tmp of its own.
        self.folder = Path(tempfile.mkdtemp(prefix="fumehood-clients.", dir="/var/tmp")).resolve()
        self.work, self.skills, self.home = (self.folder / name for name in ("work", "skills", "home"))
        for folder in (self.work, self.skills, self.home):
            folder.mkdir(mode=0o700)
        for name in ("text-report", "semver-sort"):
            shutil.copytree(ROOT / "skills" / name, self.skills / name)
        marks = self.skills / "marks"
        (marks / "scripts").mkdir(parents=True)
        (marks / "SKILL.md").write_text("---\nname: marks\ndescription: Leaves marks.\n---\nRun `mark`.\n")
        (marks / "fumehood.json").write_text(json.dumps(DECLARED))
        (marks / "scripts/mark.sh").write_text(MARK.format(log=self.work / "log"))
        self.environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        self.program = os.path.abspath(os.environ["FUMEHOOD"])

    def serve(self):
        """The arguments of a server for this world."""
        return ["serve", "--as", "tried", "--root", str(self.skills), "--workspace", f"{self.work}:rw"]

    def ask(self, *arguments):
        """What a command of the program answers, as JSON."""
        command = [self.program, *arguments, "--format", "json"]
        done = subprocess.run(command, env=self.environment, cwd=self.folder, capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"{arguments}: {done.stderr.decode()}"
        return json.loads(done.stdout)

    def marks(self):
        """What the script left, a line for each time that it ran."""
        log = self.work / "log"
        return log.read_text().splitlines() if log.exists() else []

    def receipts(self):
        return self.ask("runs")["runs"]

    def pending(self):
        return [request["id"] for request in self.ask("pending")["requests"]]

    def at_terminal(self, arguments, keys):
        """Plays a person at a terminal of its own, who answers the question `[y/N]` with `keys`. Gives the exit code and what was shown."""
        child, terminal = pty.fork()
        if child == 0:
            os.execve(self.program, [self.program, *arguments], self.environment)
        shown, until, answered = b"", time.monotonic() + PATIENCE, False
        while time.monotonic() < until:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                read = os.read(terminal, 65536)
            except OSError:
                break
            if not read:
                break
            shown += read
            if not answered and b"[y/N]" in shown:
                os.write(terminal, keys.encode())
                answered = True
        else:
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(terminal)
        return status, shown.decode(errors="replace")

    def approve(self, request):
        status, shown = self.at_terminal(["approve", request], "y\n")
        check("a person approves at a terminal", status == 0, shown)
        check("the terminal shows what is asked", "marks" in shown or "semver-sort" in shown, shown)

    def deny(self, request):
        status, shown = self.at_terminal(["deny", request], "")
        check("a person denies at a terminal", status == 0, shown)

    def check_record(self, runs):
        """The journal verifies and has this many runs; each of them succeeded and left nothing behind."""
        self.ask("audit", "verify")
        receipts = self.receipts()
        check("each run has a receipt, and nothing else has", len(receipts) == runs, receipts)
        check("every run on record succeeded", all(one["outcome"] == "succeeded" for one in receipts), receipts)
        check("every run on record is this agent's", all(one["agent"] == "tried" for one in receipts), receipts)

    def check_left(self):
        """The server is gone with all that it started."""
        until = time.monotonic() + PATIENCE
        while (left := self._processes()) and time.monotonic() < until:
            time.sleep(0.02)
        check("nothing is left running", not left, left)

    def _processes(self):
        found = []
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                line = (folder / "cmdline").read_bytes()
                if folder.name.isdigit() and int(folder.name) != os.getpid() and str(self.folder).encode() in line:
                    found.append(line)
        return found

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


passed = 0
failed = []


def check(what, holds, seen=None):
    """One thing that must hold."""
    global passed
    if not holds:
        raise AssertionError(f"{what}: {seen if isinstance(seen, str) else json.dumps(seen, default=str)}")
    passed += 1


@contextlib.contextmanager
def case(name):
    """One world and what is tried in it. What fails ends the case, and the next one is tried all the same."""
    world, before = World(), passed
    try:
        yield world
        world.check_left()
        print(f"ok   {name}: {passed - before}")
    except Exception as error:
        failed.append(name)
        print(f"FAIL {name}")
        # Libraries put what went wrong into groups of one.
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        traceback.print_exception(error, file=sys.stdout)
    finally:
        world.remove()


def end():
    print(f"{passed} checks passed, {len(failed)} cases failed")
    sys.exit(1 if failed or not passed else 0)


READERS = ["list_skills", "load_skill", "read_skill_resource"]
RUNNERS = ["run_skill_script", "call_skill_tool"]
ARTIFACTS = [f"artifact_{name}" for name in ("head", "tail", "cat", "grep", "slice", "byte_length", "line_count", "estimate_tokens")]


def check_tools(tools, artifacts=False):
    """What every client must see of every tool."""
    names = [tool["name"] for tool in tools]
    check("the tools, in their order", names == READERS + RUNNERS + (ARTIFACTS if artifacts else []), names)
    for tool in tools:
        hints, runs = tool["annotations"], tool["name"] in RUNNERS
        wanted = {"readOnlyHint": not runs, "destructiveHint": runs, "idempotentHint": not runs, "openWorldHint": runs}
        check("all four hints, and a title", hints == {**wanted, "title": tool["title"]}, tool)
        check("a closed input schema", tool["inputSchema"]["additionalProperties"] is False, tool)
        check("an output schema", tool["outputSchema"]["type"] == "object", tool)


def check_answer(result):
    """The answer of a call: its value. It is a value and the same value as a text."""
    said = result["structuredContent"]
    check("the text is the value", json.loads(result["content"][0]["text"]) == said, result)
    return said


def check_ran(result):
    said = check_answer(result)
    check("it ran", not result.get("isError") and said["receipt"].startswith("rcpt_"), result)
    check("it ended well", said["exit_code"] == 0, result)
    return said


def check_refused(result, code):
    said = check_answer(result)
    check(f"it is refused with {code}", result.get("isError") is True and said["code"] == code, result)
    check("the refusal says what to do", said["message"] and said["advice"] and said["class"], result)
    return said


def mark(text, lines=None):
    """The arguments of a call of the script."""
    args = {"text": text} if lines is None else {"text": text, "lines": lines}
    return {"skill_name": "marks", "script_name": "mark", "args": args}


def inside(fenced):
    """What stands between the marks around a text that somebody else wrote."""
    first, rest = fenced.split("\n", 1)
    body, last = rest.rsplit("\n", 1)
    check("it is fenced and labelled", first.startswith('<untrusted id="') and last.startswith('</untrusted id="'), fenced)
    return body


SORT = {"skill_name": "semver-sort", "arguments": {"versions": ["1.10.0", "1.9.0", "1.10.0-rc.1"]}}


def check_sorted(result):
    said = check_answer(result)
    check("the checked tool answered", not result.get("isError"), result)
    output = json.loads(inside(said["output"]))
    check("its answer is right", output == {"sorted": ["1.9.0", "1.10.0-rc.1", "1.10.0"], "newest": "1.10.0", "refused": []}, output)
