"""Services that take batches as OpenAI, Anthropic and Gemini do: files, states, results in another order, lines that
fail."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime
from email import message_from_bytes
from typing import Any

from tests.fakes.chat import FakeChat
from tests.fakes.models import FakeAnthropic, FakeGemini
from tests.fakes.server import Call, FakeServer, Reply, as_json


class TakesBatches(FakeServer):
    """Mixed into a fake model, which answers the lines. ``looks``: how often a batch is looked at before it is over.
    ``expires``: lines (by place) that the service does not get to. ``made``: requests of all batches, by batch."""

    looks = 1
    expires: frozenset[int] = frozenset()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.made: dict[str, list[Mapping[str, Any]]] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.asked: dict[str, int] = {}
        self.cancelled: set[str] = set()

    @property
    def direct(self) -> list[Call]:
        """The calls that were made without a batch."""
        return [
            call for call in self.calls if call.path.endswith(("/chat/completions", "/messages", ":generateContent"))
        ]

    def is_over(self, name: str) -> bool:
        self.asked[name] = self.asked.get(name, 0) + 1
        return name in self.cancelled or self.asked[name] > self.looks

    @abstractmethod
    def line(self, request: Mapping[str, Any], call: Call) -> Reply:
        """The model's reply to one line."""


class FakeOpenAIBatches(TakesBatches, FakeChat):
    """POST /v1/files, POST /v1/batches, GET /v1/batches/ID, GET /v1/files/ID/content, POST /v1/batches/ID/cancel."""

    files: dict[str, bytes]

    def line(self, request: Mapping[str, Any], call: Call) -> Reply:
        body = json.dumps(request["body"]).encode()
        return FakeChat.answer(self, Call(request["method"], request["url"], call.headers, body))

    def answer(self, call: Call) -> Reply:
        self.files = getattr(self, "files", {})
        parts = call.path.removeprefix("/v1/").split("/")
        if parts[0] not in ("files", "batches"):
            return super().answer(call)
        if self.key and call.headers.get("authorization") != f"Bearer {self.key}":
            return as_json({"error": {"message": "Incorrect API key provided"}}, 401)
        match call.method, *parts:
            case "POST", "files":
                return self._upload(call)
            case "POST", "batches":
                return self._create(call)
            case "GET", "batches":
                newest = list(self.batches.values())[::-1]
                return as_json({"object": "list", "data": newest, "has_more": False})
            case "GET", "batches", name if name in self.batches:
                return as_json(self._looked_at(name, call))
            case "POST", "batches", name, "cancel":
                self.cancelled.add(name)
                return as_json(self.batches[name] | {"status": "cancelling"})
            case "GET", "files", name, "content" if name in self.files:
                return Reply(200, self.files[name], {"Content-Type": "application/octet-stream"})
        return as_json({"error": {"message": f"No such object: {call.path}"}}, 404)

    def _upload(self, call: Call) -> Reply:
        head = f"Content-Type: {call.headers['content-type']}\r\n\r\n".encode()
        form = {
            part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
            for part in message_from_bytes(head + call.body).walk()
            if not part.is_multipart()
        }
        if form.get("purpose") != b"batch":
            return as_json({"error": {"message": "Invalid value for 'purpose'."}}, 400)
        name = f"file-{len(self.files) + 1}"
        content = form["file"]
        assert isinstance(content, bytes)
        self.files[name] = content
        return as_json({"id": name, "object": "file", "purpose": "batch", "bytes": len(content)})

    def _create(self, call: Call) -> Reply:
        asked = call.json()
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        keys = [line["custom_id"] for line in lines]
        if asked["completion_window"] != "24h" or len(set(keys)) < len(keys):
            return as_json({"error": {"message": "Invalid batch."}}, 400)
        if any(line["url"] != asked["endpoint"] for line in lines):
            return as_json({"error": {"message": "The url of every line must be the endpoint."}}, 400)
        name = f"batch_{len(self.made) + 1}"
        self.made[name] = lines
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "status": "validating",
            "errors": None,
            "created_at": int(datetime.now(UTC).timestamp()),
            "metadata": asked.get("metadata"),
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }
        return as_json(self.batches[name])

    def _looked_at(self, name: str, call: Call) -> dict[str, Any]:
        batch = self.batches[name]
        if batch["status"] in ("completed", "expired") or not self.is_over(name):
            return batch | ({"status": "in_progress"} if batch["status"] == "validating" else {})
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        for place, line in enumerate(self.made[name]):
            if place in self.expires or name in self.cancelled:
                error = {"code": "batch_expired", "message": "This request could not be executed in time."}
                bad.append({"id": f"r{place}", "custom_id": line["custom_id"], "response": None, "error": error})
                continue
            reply = self.line(line, call)
            response = {"status_code": reply.status, "request_id": f"q{place}", "body": json.loads(reply.body)}
            into = good if reply.status == 200 else bad
            into.append({"id": f"r{place}", "custom_id": line["custom_id"], "response": response, "error": None})
        batch["status"] = "expired" if self.expires else "completed"
        for field, found in (("output_file_id", good), ("error_file_id", bad)):
            if found:
                batch[field] = f"file-{field[:3]}-{name}"
                # In no order that could be relied on.
                self.files[batch[field]] = "".join(json.dumps(line) + "\n" for line in found[::-1]).encode()
        return batch


class FakeAnthropicBatches(TakesBatches, FakeAnthropic):
    """POST /v1/messages/batches, GET /v1/messages/batches/ID and its /results, POST its /cancel."""

    def line(self, request: Mapping[str, Any], call: Call) -> Reply:
        body = json.dumps(request["params"]).encode()
        return FakeAnthropic.answer(self, Call("POST", "/v1/messages", call.headers, body))

    def answer(self, call: Call) -> Reply:
        if not call.path.startswith("/v1/messages/batches"):
            return super().answer(call)
        if self.given_key(call) != self.key:
            return self.fault(401, "invalid x-api-key")
        match call.method, *call.path.removeprefix("/v1/messages/").split("/"):
            case "POST", "batches":
                return self._create(call)
            case "GET", "batches":
                return as_json({"data": list(self.batches.values())[::-1], "has_more": False})
            case "GET", "batches", name if name in self.batches:
                if self.is_over(name):
                    self.batches[name] |= {"processing_status": "ended", "results_url": f"{call.path}/results"}
                return as_json(self.batches[name])
            case "GET", "batches", name, "results" if self.batches[name]["processing_status"] == "ended":
                return Reply(200, self._results(name, call), {"Content-Type": "application/x-jsonl"})
            case "POST", "batches", name, "cancel":
                self.cancelled.add(name)
                return as_json(self.batches[name] | {"processing_status": "canceling"})
        return self.fault(404, f"Not found: {call.path}")

    def _create(self, call: Call) -> Reply:
        lines = call.json()["requests"]
        if any(len(line["custom_id"]) > 64 for line in lines):
            return self.fault(400, "requests.0.custom_id: String should have at most 64 characters")
        name = f"msgbatch_{len(self.made) + 1}"
        self.made[name] = lines
        self.batches[name] = {
            "id": name,
            "type": "message_batch",
            "processing_status": "in_progress",
            "created_at": datetime.now(UTC).isoformat(),
            "results_url": None,
            "request_counts": {"processing": len(lines), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
        }
        return as_json(self.batches[name])

    def _results(self, name: str, call: Call) -> bytes:
        lines = []
        for place, line in reversed(list(enumerate(self.made[name]))):
            if place in self.expires or name in self.cancelled:
                result: dict[str, Any] = {"type": "canceled" if name in self.cancelled else "expired"}
            else:
                reply = self.line(line, call)
                body = json.loads(reply.body)
                succeeded = reply.status == 200
                result = {"type": "succeeded", "message": body} if succeeded else {"type": "errored", "error": body}
            lines.append(json.dumps({"custom_id": line["custom_id"], "result": result}))
        return "\n".join(lines).encode()


class FakeGeminiBatches(TakesBatches, FakeGemini):
    """POST /v1beta/models/MODEL:batchGenerateContent, GET /v1beta/batches and /v1beta/batches/ID, POST its :cancel.
    ``tells_keys``: the answers carry the keys of their requests."""

    tells_keys = True

    def line(self, request: Mapping[str, Any], call: Call) -> Reply:
        body = json.dumps(request["request"]).encode()
        return FakeGemini.answer(self, Call("POST", "/v1beta/models/fake-1:generateContent", call.headers, body))

    def answer(self, call: Call) -> Reply:
        path = call.path.removeprefix("/v1beta/")
        if not path.startswith("batches") and not path.endswith(":batchGenerateContent"):
            return super().answer(call)
        if self.given_key(call) != self.key:
            return self.fault(401, "API key not valid. Please pass a valid API key.")
        name = path.removesuffix(":cancel")
        if call.method == "POST" and path.endswith(":batchGenerateContent"):
            return self._create(call)
        if call.method == "GET" and path == "batches":
            return as_json({"operations": list(self.batches.values())[::-1]} if self.batches else {})
        if call.method == "POST" and path.endswith(":cancel") and name in self.batches:
            self.cancelled.add(name)
            return as_json({})
        if call.method == "GET" and name in self.batches:
            return as_json(self._looked_at(name, call))
        return self.fault(404, f"Not found: {call.path}")

    def _create(self, call: Call) -> Reply:
        batch = call.json()["batch"]
        name = f"batches/{len(self.made) + 1}"
        lines = batch["inputConfig"]["requests"]["requests"]
        # Named as in the others, by which tests count what was asked.
        self.made[name] = [line | {"custom_id": line["metadata"]["key"]} for line in lines]
        metadata = {
            "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
            "displayName": batch["displayName"],
            "state": "BATCH_STATE_PENDING",
            "batchStats": {"requestCount": str(len(lines))},
        }
        self.batches[name] = {"name": name, "metadata": metadata}
        return as_json(self.batches[name])

    def _looked_at(self, name: str, call: Call) -> dict[str, Any]:
        batch = self.batches[name]
        if not self.is_over(name):
            return batch
        if name in self.cancelled:
            batch["metadata"]["state"] = "BATCH_STATE_CANCELLED"
            return batch | {"done": True, "error": {"code": 1, "message": "The batch was cancelled."}}
        lines = []
        for place, line in enumerate(self.made[name]):
            if place in self.expires:
                outcome: dict[str, Any] = {"error": {"code": 4, "message": "Deadline expired."}}
            else:
                reply = self.line(line, call)
                body = json.loads(reply.body)
                outcome = {"response": body} if reply.status == 200 else {"error": body["error"]}
            lines.append(outcome | ({"metadata": line["metadata"]} if self.tells_keys else {}))
        batch["metadata"]["state"] = "BATCH_STATE_SUCCEEDED"
        return batch | {"done": True, "response": {"inlinedResponses": {"inlinedResponses": lines}}}
