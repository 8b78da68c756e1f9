"""Adam over one flat vector of weights, with its state as plain tensors so that a run resumes to the bit."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["FlatAdam"]


class FlatAdam:
    """Adam without weight decay. Source: Kingma and Ba, 2015, arXiv:1412.6980, algorithm 1.

    Args:
        weights: The weights, ``(P,)``; changed in place.
        learning_rate: Step size.
        betas: Decay of the two moments.
        eps: Added to the root of the second moment.
    """

    def __init__(
        self, weights: Tensor, learning_rate: float, *, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        self._weights = weights
        self._learning_rate = learning_rate
        self._betas = betas
        self._eps = eps
        self._steps = 0
        self._first = torch.zeros_like(weights)
        self._second = torch.zeros_like(weights)

    @torch.no_grad()
    def step(self, gradient: Tensor, clip: float) -> float:
        """One step.

        Args:
            gradient: ``(P,)``.
            clip: Largest norm; a longer gradient is shortened to it.

        Returns:
            The norm before clipping. A gradient that is not finite changes nothing.
        """
        norm = float(torch.linalg.vector_norm(gradient))
        if not torch.isfinite(torch.tensor(norm)):
            return norm
        if norm > clip:
            gradient = gradient * (clip / norm)
        self._steps += 1
        b1, b2 = self._betas
        self._first.mul_(b1).add_(gradient, alpha=1 - b1)
        self._second.mul_(b2).addcmul_(gradient, gradient, value=1 - b2)
        size = self._learning_rate / (1 - b1**self._steps)
        scale = (self._second / (1 - b2**self._steps)).sqrt_().add_(self._eps)
        self._weights.addcdiv_(self._first, scale, value=-size)
        return norm

    def state(self) -> dict[str, Tensor | int]:
        """Everything that decides the next steps."""
        return {"steps": self._steps, "first": self._first.clone(), "second": self._second.clone()}

    def restore(self, state: dict[str, Tensor | int]) -> None:
        """The inverse of :meth:`state`."""
        self._steps = int(state["steps"])
        self._first.copy_(torch.as_tensor(state["first"]))
        self._second.copy_(torch.as_tensor(state["second"]))
