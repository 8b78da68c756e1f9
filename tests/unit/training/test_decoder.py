"""The decoder: what is said piece by piece is scored as what is said at once."""

from __future__ import annotations

import pytest
import torch

from proas.errors import UsageError
from proas.training.policy.decoder import Decoder, DecoderConfig, KeyValueCache

CONFIG = DecoderConfig(vocabulary=50, width=32, layers=3, heads=4, key_heads=2, hidden=48)


@pytest.fixture
def decoder() -> Decoder:
    torch.manual_seed(3)
    return Decoder(CONFIG)


@pytest.mark.parametrize("lengths", [(23, 9, 31), tuple(range(5, 24))], ids=["few", "many"])
def test_rows_that_grow_at_different_rates_match_whole_sequences(decoder: Decoder, lengths: tuple[int, ...]) -> None:
    rows = [torch.randint(3, 50, (n,)) for n in lengths]
    cache = KeyValueCache(CONFIG, len(rows), 4)
    at = [0] * len(rows)
    generator = torch.Generator().manual_seed(1)
    with torch.inference_mode():
        while any(place < len(row) for place, row in zip(at, rows, strict=True)):
            counts = [
                min(int(torch.randint(0, 7, (1,), generator=generator)), len(row) - place)
                for place, row in zip(at, rows, strict=True)
            ]
            if not any(counts):
                continue
            chunk = torch.zeros(len(rows), max(counts), dtype=torch.long)
            for i, (place, row, count) in enumerate(zip(at, rows, counts, strict=True)):
                chunk[i, :count] = row[place : place + count]
            hidden = decoder.extend(chunk, torch.tensor(counts), cache)
            for i, (row, count) in enumerate(zip(rows, counts, strict=True)):
                at[i] += count
                if count:
                    torch.testing.assert_close(
                        hidden[i], decoder(row[: at[i]].unsqueeze(0))[0, -1], rtol=1e-4, atol=1e-5
                    )
    assert cache.lengths.tolist() == list(lengths)


def test_padding_on_the_right_changes_nothing_before_it(decoder: Decoder) -> None:
    row = torch.randint(3, 50, (1, 12))
    padded = torch.cat([row, torch.zeros(1, 5, dtype=torch.long)], dim=1)
    torch.testing.assert_close(decoder(padded)[:, :12], decoder(row), rtol=1e-4, atol=1e-5)


def test_rows_can_be_dropped_and_repeated(decoder: Decoder) -> None:
    with torch.inference_mode():
        cache = KeyValueCache(CONFIG, 2, 2)
        first = torch.tensor([[5, 6, 7], [8, 9, 0]])
        decoder.extend(first, torch.tensor([3, 2]), cache)
        cache.select(torch.tensor([1, 1, 0]))
        hidden = decoder.extend(torch.tensor([[10], [11], [12]]), torch.ones(3, dtype=torch.long), cache)
        for found, whole in zip(hidden, ([8, 9, 10], [8, 9, 11], [5, 6, 7, 12]), strict=True):
            torch.testing.assert_close(found, decoder(torch.tensor([whole]))[0, -1], rtol=1e-4, atol=1e-5)


def test_order_and_place_matter(decoder: Decoder) -> None:
    one, other = decoder(torch.tensor([[5, 6, 7]])), decoder(torch.tensor([[6, 5, 7]]))
    assert not torch.allclose(one[0, -1], other[0, -1], atol=1e-3)


def test_every_weight_is_learnt(decoder: Decoder) -> None:
    decoder.logits(decoder(torch.randint(3, 50, (2, 7)))).square().sum().backward()
    for name, parameter in decoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("wrong", [{"heads": 5}, {"key_heads": 3}, {"width": 12, "heads": 4}])
def test_sizes_that_do_not_fit_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="do not fit"):
        DecoderConfig(**{"vocabulary": 50, "width": 32, "heads": 4, **wrong})
