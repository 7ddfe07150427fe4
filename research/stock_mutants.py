"""Mutants of a stock GPT-2: is any certified that is wrong on a word, in any of several orders of adding?

    python research/stock_mutants.py [--count 200]

The network adds modulo 5 and is trained here. Each mutant has one tensor changed. The rules alone decide,
without running words first; then torch runs all words, in three orders. Prints one line of counts.
"""

import argparse
from collections import Counter

import torch
from tests.proving.stock_networks import every_word, mutants, trained_sum
from transformers import GPT2LMHeadModel

import krohn
from krohn.check.rules import check_certificate
from krohn.network.gpt2.stock import net_of_module, tokens_for
from krohn.proving.stock import certificate_for

MODULUS, LENGTH = 5, 2


def wrong(network: GPT2LMHeadModel) -> bool:
    """Whether torch gets a word wrong: batched, one by one, with fused attention."""
    words = torch.from_numpy(every_word(MODULUS, LENGTH))
    with torch.no_grad():
        answers = [torch.cat([network(word[None]).logits for word in words])]
        for way in ("eager", "sdpa"):
            network.set_attn_implementation(way)
            answers.append(network(words).logits)
    return any(bool((answer.argmax(-1) != words.cumsum(1) % MODULUS).any()) for answer in answers)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200)
    count, automaton, seen = parser.parse_args().count, krohn.zoo(f"C{MODULUS}"), Counter[str]()
    for mutant in mutants(trained_sum(MODULUS, LENGTH, 300), count):
        net = net_of_module(mutant, tokens_for(automaton, None))
        verdict = check_certificate(net, certificate_for(net, automaton, LENGTH, "float32"))
        seen[
            f"{'certified' if verdict.certified else 'refused'}, {'wrong' if wrong(mutant) else 'right'}"
        ] += 1
    print(", ".join(f"{number} {what.replace(', ', ' and ')}" for what, number in sorted(seen.items())))


if __name__ == "__main__":
    main()
