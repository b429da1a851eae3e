#!/usr/bin/env python3
"""A model that says what it was told to say, for trying real agents without one.

    model.py STEPS LOG

Listens on a port of 127.0.0.1, which it prints, and speaks two interfaces of models, each as server-sent events: Anthropic's Messages
and OpenAI's Responses. STEPS is a JSON list. {"tool": NAME, "args": {…}} calls the tool whose name ends with NAME; {"say": TEXT}
says something, which ends the turn. Which step it is at it tells from the conversation: results of tools and sayings are counted. In
arguments, "$artifact" stands for the first id of a result that came up. What it was told goes to LOG, one JSON object a line.
"""

import http.server
import itertools
import json
import re
import sys

STEPS = json.loads(sys.argv[1])
SAYINGS = [step["say"] for step in STEPS if "say" in step]
LOG = open(sys.argv[2], "a", buffering=1)
ids = itertools.count(1)


def text_of(content):
    """The text of a message or of a result, whose content may be a text or a list of blocks."""
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or [] if isinstance(block, dict))


def step(tools, results, said):
    """What comes next: ("say", text), or ("call", (name, namespace), arguments)."""
    at = len(results) + sum(text in SAYINGS for text in said)
    if not tools or at >= len(STEPS):
        return "say", "That is all."
    now = STEPS[at]
    if "say" in now:
        return "say", now["say"]
    tool = next((tool for tool in tools if tool[0].endswith(now["tool"])), None)
    if tool is None:
        LOG.write(json.dumps({"missing": now["tool"], "offered": [name for name, _ in tools]}) + "\n")
        return "say", f"There is no tool {now['tool']}."
    artifact = re.search(r"art_[0-9a-f]{32}", " ".join(results))
    arguments = json.dumps(now.get("args", {}))
    return "call", tool, arguments.replace("$artifact", artifact[0] if artifact else "")


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, body, kind="application/json"):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, events):
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.give(body.encode(), "text/event-stream")

    def do_HEAD(self):
        self.give(b"")

    def do_GET(self):
        self.give(b'{"object": "list", "data": [], "models": []}')

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        request = json.loads(self.rfile.read(length) or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            self.give(b'{"input_tokens": 1}')
        elif path.endswith("/messages"):
            self.answer_messages(request)
        elif path.endswith("/responses"):
            self.answer_responses(request)
        else:
            self.give(b"{}")

    def answer_messages(self, request):
        blocks = [(message["role"], block) for message in request["messages"] if isinstance(message["content"], list)
                  for block in message["content"]]
        results = [text_of(block.get("content")) for _, block in blocks if block["type"] == "tool_result"]
        said = [block["text"] for role, block in blocks if role == "assistant" and block["type"] == "text"]
        said += [message["content"] for message in request["messages"] if message["role"] == "assistant" and isinstance(message["content"], str)]
        tools = [(tool.get("name", ""), None) for tool in request.get("tools", [])]
        self.note(tools, results)
        kind, *what = step(tools, results, said)
        if kind == "call":
            (name, _), arguments = what
            block = {"type": "tool_use", "id": f"toolu_{next(ids)}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": arguments}
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": what[0]}
        reason = "tool_use" if kind == "call" else "end_turn"
        message = {"id": f"msg_{next(ids)}", "type": "message", "role": "assistant", "model": request.get("model"), "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not request.get("stream"):
            whole = {"type": "text", "text": what[0]} if kind == "say" else {**block, "input": json.loads(what[1])}
            self.give(json.dumps({**message, "content": [whole], "stop_reason": reason}).encode())
            return
        self.stream([
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ])

    def answer_responses(self, request):
        items = [item for item in request.get("input", []) if isinstance(item, dict)]
        results = [text_of(item["output"]) for item in items if (item.get("type") or "").endswith("_output")]
        said = [text_of(item["content"]) for item in items if item.get("role") == "assistant"]
        tools = []
        for tool in request.get("tools", []):
            tools.append((tool.get("name") or "", None))
            # A server's tools may be inside one of its name.
            tools += [(inner.get("name") or "", tool.get("name")) for inner in tool.get("tools") or []]
        self.note(tools, results)
        kind, *what = step(tools, results, said)
        if kind == "call":
            (name, namespace), arguments = what
            item = {"type": "function_call", "id": f"fc_{next(ids)}", "call_id": f"call_{next(ids)}", "name": name, "arguments": arguments,
                    "status": "completed", **({"namespace": namespace} if namespace else {})}
        else:
            item = {"type": "message", "id": f"msg_{next(ids)}", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": what[0], "annotations": []}]}
        response = {"id": f"resp_{next(ids)}", "object": "response", "model": request.get("model"), "status": "completed", "output": [item],
                    "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
                              "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}}
        self.stream([
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ])

    def note(self, tools, results):
        LOG.write(json.dumps({"tools": [name for name, _ in tools], "results": results}) + "\n")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_address[1], flush=True)
server.serve_forever()
