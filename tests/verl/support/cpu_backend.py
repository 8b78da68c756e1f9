"""A CPU as a device of verl, through verl's own registries, so that one whole training step runs without a GPU.

Loaded by ``VERL_USE_EXTERNAL_MODULES=cpu_backend`` with ``VERL_PLATFORM=cpu``, in every process of the run. It brings a
platform, FSDP's engine for it, a rollout engine (:mod:`guided_server`), and a checkpoint engine, which carries weights
to a rollout engine on devices of its own as NCCL does on GPUs; verl itself is as released.
"""

from __future__ import annotations

import contextlib
import os
import types
from collections.abc import AsyncIterator, Iterator
from typing import Any

import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry


class _CpuDevice(types.ModuleType):
    """What verl expects of ``torch.cuda``, for a CPU; what has no meaning here does nothing and answers 0."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(torch.cpu, name, lambda *args, **kwargs: 0)


_DEVICE = _CpuDevice("cpu_device")
_DEVICE.is_available = lambda: False
_DEVICE.current_device = lambda: "cpu"
_DEVICE.get_device_name = lambda *args: "CPU"
_DEVICE.get_rng_state = torch.get_rng_state
_DEVICE.set_rng_state = torch.set_rng_state
_DEVICE.mem_get_info = lambda *args: (1, 1)


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):
    """One device, the CPU."""

    device_name = property(lambda self: "cpu")
    vendor_name = property(lambda self: "cpu")
    device_module = property(lambda self: _DEVICE)

    def is_available(self) -> bool:
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        return False  # never chosen by itself, only when it is named

    def current_device(self) -> str:
        return "cpu"

    def device_count(self) -> int:
        return 1

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    def ray_resource_name(self) -> str:
        return "NPU"  # verl counts devices by the names GPU and NPU alone

    def ray_noset_envvars(self) -> list[str]:
        return ["PROAS_TEST_NOSET"]

    def is_ipc_supported(self) -> bool:
        return False

    def get_device_capability(self, device: int = 0) -> tuple[None, None]:
        return (None, None)

    def cudart(self) -> None:
        return None

    @contextlib.contextmanager
    def nvtx_range(self, message: str) -> Iterator[None]:
        yield

    def _nothing(self, *args: Any, **kwargs: Any) -> None:
        return None

    set_device = synchronize = set_allocator_settings = empty_cache = profiler_start = profiler_stop = _nothing


def _one_backend() -> None:
    """verl asks torch for ``cpu:gloo,cpu:gloo``, which torch refuses: name the device once."""
    import torch.distributed as dist

    stock = dist.init_process_group

    def init(backend: str | None = None, *args: Any, **kwargs: Any) -> Any:
        return stock("cpu:gloo" if backend and "," in backend else backend, *args, **kwargs)

    dist.init_process_group = init


def _engines() -> None:
    """FSDP's engine on this device, and the rollout engine."""
    import ray
    from verl.workers.engine.base import EngineRegistry
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead
    from verl.workers.rollout import base as rollout_base
    from verl.workers.rollout.base import BaseRollout
    from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry
    from verl.workers.rollout.utils import ensure_async_iterator

    EngineRegistry.register(model_type="language_model", backend=["fsdp", "fsdp2"], device=["cpu"])(
        FSDPEngineWithLMHead
    )

    class GuidedReplica(RolloutReplica):
        async def launch_servers(self) -> None:
            from guided_server import GuidedServer

            name = f"guided-{self.replica_rank}"
            server = ray.remote(GuidedServer).options(name=name, num_cpus=1, max_concurrency=64)
            self.servers = [server.remote(self.model_config.path)]
            self._server_handle, self._server_address = self.servers[0], name

    class GuidedRollout(BaseRollout):
        """The trainer's side: hands new weights to the server."""

        async def resume(self, tags: Any) -> None:
            return None

        async def release(self) -> None:
            return None

        def __init__(self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = 0) -> None:
            super().__init__(config, model_config, device_mesh)
            self.replica_rank = max(replica_rank, 0)

        def generate_sequences(self, prompts: Any) -> Any:
            raise NotImplementedError

        async def update_weights(self, weights: Any, **more: Any) -> None:
            state = {name: tensor.detach().float().numpy() async for name, tensor in ensure_async_iterator(weights)}
            await ray.get_actor(f"guided-{self.replica_rank}").load.remote(state, more.get("global_steps"))

    globals()["GuidedRollout"] = GuidedRollout
    rollout_base._ROLLOUT_REGISTRY["guided", "async"] = "cpu_backend.GuidedRollout"
    RolloutReplicaRegistry.register("guided", lambda: GuidedReplica)


def _weights_by_queue() -> None:
    """A checkpoint engine for asynchronous training: NCCL, which verl would use, knows no CPU."""
    from ray.util.queue import Queue
    from verl.checkpoint_engine.base import CheckpointEngine, CheckpointEngineRegistry

    @CheckpointEngineRegistry.register("queue")
    class QueueEngine(CheckpointEngine):
        """One trainer and one engine, with a queue of Ray's between them."""

        def __init__(self, bucket_size: int, is_master: bool = False) -> None:
            self._is_master = is_master
            self._queue: Any = None

        def prepare(self) -> dict[str, Any]:
            return {"queue": Queue() if self._is_master else None}

        @classmethod
        def build_topology(cls, actors: int, engines: int, metadata: list[dict[str, Any]]) -> tuple[Any, Any]:
            queue = metadata[0]["queue"]
            return {"queue": [queue] * actors}, {"queue": [queue] * engines}

        def init_process_group(self, queue: Any) -> None:
            self._queue = queue

        def finalize(self) -> None:
            if self._is_master:
                self._queue.shutdown()

        async def send_weights(self, weights: Any, global_steps: int | None = None) -> None:
            await self._queue.put_async([(name, tensor.detach().cpu()) for name, tensor in weights])

        async def receive_weights(self, global_steps: int | None = None) -> AsyncIterator[tuple[str, torch.Tensor]]:
            for name, tensor in await self._queue.get_async():
                yield name, tensor


if os.environ.get("VERL_PLATFORM") == "cpu":
    _one_backend()
    _engines()
    _weights_by_queue()
