"""The objective, by hand."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
import torch

from proas.shaping import offsets_of, token_weights
from proas.training.objective import ClipRange, clipped_surrogate, entropy_of, k3, policy_terms
from proas.training.optimiser import FlatAdam


def test_the_clip_holds_gains_and_lets_losses_through() -> None:
    ratio = torch.tensor([1.5, 1.5, 0.5, 0.5, 1.1])
    advantage = torch.tensor([2.0, -2.0, 2.0, -2.0, 1.0])
    found = clipped_surrogate(ratio, advantage, ClipRange(0.2, 0.28))
    assert found.tolist() == pytest.approx([1.28 * 2, -3.0, 1.0, -0.8 * 2, 1.1])


def test_k3_is_zero_on_equality_and_never_negative() -> None:
    found = k3(torch.log(torch.tensor([0.5, 0.5, 0.25])), torch.log(torch.tensor([0.5, 0.25, 0.5])))
    assert found.tolist() == pytest.approx([0.0, 0.5 - math.log(0.5) - 1, 2 - math.log(2.0) - 1])
    assert (found >= 0).all()


def test_entropy_ignores_what_cannot_be_said() -> None:
    logprobs = torch.log_softmax(torch.tensor([[0.0, 0.0, -math.inf], [5.0, -math.inf, -math.inf]]), dim=-1)
    assert entropy_of(logprobs).tolist() == pytest.approx([math.log(2), 0.0])


def test_terms_of_two_tokens_by_hand() -> None:
    scores = torch.log(torch.tensor([[0.5, 0.5], [0.8, 0.2]])).requires_grad_()
    found = policy_terms(
        scores,
        chosen=torch.tensor([0, 1]),
        old=torch.log(torch.tensor([0.25, 0.2])),
        advantages=torch.tensor([1.0, -1.0]),
        weights=torch.tensor([0.25, 0.75]),
        clip=ClipRange(0.2, 0.2),
        reference=torch.log(torch.tensor([0.5, 0.2])),
    )
    # Ratios 2 and 1: the first is held at 1.2.
    assert float(found.surrogate.detach()) == pytest.approx(0.25 * 1.2 - 0.75)
    assert float(found.clipped.detach()) == pytest.approx(0.25)
    assert float(found.ratio.detach()) == pytest.approx(0.25 * 2 + 0.75)
    assert float(found.kl.detach()) == pytest.approx(0.0, abs=1e-6)
    found.surrogate.backward()
    assert scores.grad is not None
    assert scores.grad[0].tolist() == [0.0, 0.0]  # a clipped token has no gradient
    assert scores.grad[1, 1] < 0 < scores.grad[1, 0]


def test_a_temperature_scales_the_scores() -> None:
    scores = torch.tensor([[2.0, 0.0]])
    drawn = torch.log_softmax(scores / 0.5, dim=-1)[:, 0]
    found = policy_terms(
        scores, torch.tensor([0]), drawn, torch.ones(1), torch.ones(1), ClipRange(0.2, 0.2), temperature=0.5
    )
    assert float(found.ratio) == pytest.approx(1.0)


def test_adam_by_hand() -> None:
    weights = torch.zeros(2)
    adam = FlatAdam(weights, 0.1, betas=(0.5, 0.75), eps=0.0)
    assert adam.step(torch.tensor([3.0, 4.0]), clip=2.5) == pytest.approx(5.0)  # held to (1.5, 2)
    assert weights.tolist() == pytest.approx([-0.1, -0.1])  # the first step is as long as the learning rate
    adam.step(torch.tensor([-1.5, 2.0]), clip=2.5)
    # First moments (0.75, 1) / 2 + (-1.5, 2) / 2 = (-0.375, 1.5), corrected by 1 - 0.25; second moments 1.5^2, 2^2
    # throughout, each corrected to itself.
    assert weights.tolist() == pytest.approx([-0.1 + 0.1 * 0.5 / 1.5, -0.1 - 0.1 * 2.0 / 2.0])


def test_adam_goes_on_where_it_was() -> None:
    gradients = [torch.tensor([1.0, -2.0]), torch.tensor([0.5, 0.5]), torch.tensor([-3.0, 1.0])]
    whole, part = torch.ones(2), torch.ones(2)
    adam, first = FlatAdam(whole, 0.1), FlatAdam(part, 0.1)
    for gradient in gradients:
        adam.step(gradient, clip=9.0)
    first.step(gradients[0], clip=9.0)
    again = FlatAdam(part, 0.1)
    again.restore(first.state())
    for gradient in gradients[1:]:
        again.step(gradient, clip=9.0)
    assert torch.equal(whole, part)


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    weights = torch.ones(3)
    adam = FlatAdam(weights, 0.1)
    assert math.isnan(adam.step(torch.tensor([1.0, math.nan, 0.0]), clip=1.0))
    assert weights.tolist() == [1.0, 1.0, 1.0]
    adam.step(torch.ones(3), clip=1.0)
    assert weights.tolist() == pytest.approx([0.9, 0.9, 0.9])


@pytest.mark.parametrize(("unit", "drift"), [("token", 0.0), ("step", 1 / 24)])
def test_a_mean_over_steps_favours_short_actions(unit: Literal["token", "step"], drift: float) -> None:
    """Two actions, ``a <end>`` and ``a b <end>``: after ``a`` the policy ends or goes on, each with probability 1/2.

    The expected gradient of an advantage of 1 in the score of ending there: with all tokens alike the two actions pull
    with 1/2 * (1 - 1/2) and 1/2 * (0 - 1/2) and cancel. Divided by their lengths, 2 and 3, they leave 1/8 - 1/12.
    """
    scores = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    said = torch.log_softmax(scores, dim=-1)
    weights = 2 * token_weights(unit, np.array([2, 3]), offsets_of([1, 1]))
    expected = sum((0.5 * float(weight) * said[i] for i, weight in enumerate(weights)), torch.zeros(()))
    (gradient,) = torch.autograd.grad(expected, scores)
    assert float(gradient[0]) == pytest.approx(drift, abs=1e-12)
