"""How far a network holds: the first wrong letter of long words, and the reach over several lengths."""

import pytest
import torch
from torch import nn

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.lab.cards.harness import FirstWrong, first_wrong, long_words


class Forgets(nn.Module):
    """Parity, right up to a letter: a table of letters, then a running sum."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last
        self.none = nn.Parameter(torch.zeros(1))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        states = words.cumsum(1) % 2
        late = torch.arange(words.shape[1]) >= self.last
        states = torch.where(late, 1 - states, states)
        return nn.functional.one_hot(states, 2).float() + self.none


@pytest.mark.parametrize("last", [0, 5, 300, 9_999, 10_000])
def test_the_first_wrong_letter_is_found(last: int) -> None:
    result = first_wrong(Forgets(last), parse_spec("C2"), 10_000, "cpu")
    if last == 10_000:
        assert result == FirstWrong(None, "", 10_000)
    else:
        assert result.letter == last + 1


def test_long_words_have_repeats_and_alternations() -> None:
    words = dict(long_words(parse_spec("C3"), 5))
    assert words["2 repeated"].tolist() == [2] * 5
    assert words["0 and 2 in turn"].tolist() == [0, 2, 0, 2, 0]
    assert len(words["random letters"]) == 5


class OnlyRepeats(Forgets):
    """Wrong where the same letter comes forty times after itself, and nowhere else."""

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        right = words.cumsum(1) % 2
        same = torch.zeros_like(words)
        for place in range(1, words.shape[1]):
            same[:, place] = (same[:, place - 1] + 1) * (words[:, place] == words[:, place - 1])
        return nn.functional.one_hot(torch.where(same >= 40, 1 - right, right), 2).float() + self.none


def test_a_network_that_fails_on_repeats_alone_is_caught_by_them() -> None:
    assert first_wrong(OnlyRepeats(0), parse_spec("C2"), 200, "cpu") == FirstWrong(41, "0 repeated", 200)


class Overflows(nn.Module):
    """One state, whose logit is ∞ − ∞ from a letter on."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        late = torch.arange(words.shape[1]) >= self.last
        most = torch.where(late, torch.inf, 1.0).expand(words.shape)[..., None]
        return most - most


@pytest.mark.parametrize(("last", "letter"), [(300, 301), (10_000, None)])
def test_a_logit_that_is_no_number_is_a_wrong_answer(last: int, letter: int | None) -> None:
    """The largest of some numbers and a NaN is the NaN, for torch: here it would be the right state."""
    one_state = Semiautomaton.from_letters([[0], [0]])
    assert first_wrong(Overflows(last), one_state, 10_000, "cpu").letter == letter
