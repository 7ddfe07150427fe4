"""Mutation testing: mistakes planted in the sources one at a time, each with tests that must catch it.

``python research/source_mutants.py`` applies each to a copy and runs the named tests; one that survives is
printed (exit status 1). Run it before and after making the suite smaller. ``--only TEXT`` takes those
whose file, change or tests have the text in them; ``--check`` runs nothing and says which cannot be applied.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from multiprocessing.pool import ThreadPool
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[1]

MARKED = ("-m", "not attack")
"""Mistakes must be found by what continuous integration runs."""
TOYS = "tests/check/test_toy_formats.py"
COMPILED = "tests/construct/test_compiling.py"

# File in src/krohn, what stands there once, what is put in its place, the tests that find it
# (and options of pytest).
MUTANTS = [
    (
        "automata/distributions.py",
        "(place + 1) % period * size",
        "place % period * size",
        "tests/automata/test_distributions.py",
    ),
    (
        "depth/layer_size.py",
        "return excluded - 1",
        "return excluded",
        "tests/depth/test_lower_bounds.py",
    ),
    (
        "paper/best.py",
        "joints = cascade.num_levels - 1",
        "joints = cascade.num_levels",
        "tests/paper/test_best.py",
    ),
    (
        "network/lowering/heads.py",
        "codes.base ** (frequency + 1)",
        "codes.base**frequency",
        "tests/network/test_meaning.py",
    ),
    (
        "exporting/standard_blocks.py",
        "return 0 if index == len(mlp.weights) - 1 else channels.scratch",
        "return channels.scratch if index == 0 else 0",
        "tests/exporting/test_export_proof.py",
    ),
    (
        "lab/tasks/batches.py",
        "(random_streams.uniform(draws) < self.config.reveal)",
        "(random_streams.uniform(draws) <= self.config.reveal / 2)",
        "tests/lab/tasks/test_batches.py",
    ),
    (
        "recurrent/verdicts.py",
        "return 1 << (longest - 1).bit_length(), self",
        "return 1 << longest.bit_length(), self",
        "tests/recurrent/test_verdicts.py -k blocks",
    ),
    (
        "lab/interpret/understand.py",
        '"shuffled": directions(*spread.scatters(mixed)',
        '"shuffled": directions(*spread.scatters(values)',
        "tests/lab/interpret/test_measuring.py -k controls",
    ),
    (
        "lab/training/loop.py",
        "finals, run.standing.state.average)",
        "finals, run.standing.state.best)",
        "tests/lab/training/test_loop.py -k final_scores",
    ),
    (
        "lab/suite/scoring.py",
        "/ (graph.possible & ~truth).sum()",
        "/ truth.sum()",
        "tests/lab/suite/test_scoring.py -k curve_counts",
    ),
    (
        "check/recurrent/balls.py",
        "memory.radius + memory.size * gate.radius",
        "memory.radius + np.abs(memory.middle) * gate.radius",
        "tests/check/test_balls_hold.py",
    ),
    (
        "algebra/transformation.py",
        "second[image] for image in first",
        "first[image] for image in second",
        "tests/algebra/test_permutation.py",
    ),
    (
        "algebra/transformation.py",
        "(index + exponent) % length",
        "(index - exponent) % length",
        "tests/algebra/test_permutation.py",
    ),
    (
        "algebra/transformation.py",
        "cycles(permutation)) % 2 == 0",
        "cycles(permutation)) % 2 == 1",
        "tests/algebra/test_permutation.py",
    ),
    (
        "automata/semiautomaton.py",
        "letters.max() >= automaton.num_letters",
        "letters.max() > automaton.num_letters",
        "tests/automata/test_refused_automata.py",
    ),
    (
        "cascade/covering.py",
        "if mask & (mask - 1) or not mask:",
        "if not mask:",
        "tests/cascade/test_covering.py",
    ),
    (
        "cascade/covering.py",
        "if depth[tile] <= depth[number]:",
        "if depth[tile] < depth[number]:",
        "tests/cascade/test_covering.py tests/cascade/test_schedules.py",
    ),
    (
        "depth/block_scheme.py",
        "apart = differed or s != t",
        "apart = s != t",
        "tests/depth/test_block_schemes.py",
    ),
    (
        "depth/block_scheme.py",
        "if apart and all(p == q",
        "if apart and any(p == q",
        "tests/depth/test_block_schemes.py",
    ),
    (
        "lab/interpret/findings.py",
        "square / (2 * trials)",
        "square / (3 * trials)",
        "tests/lab/interpret/test_intervals.py",
    ),
    (
        "network/forward.py",
        "bits + np.uint32(0x7FFF)",
        "bits + np.uint32(0x8000)",
        "tests/network/test_same_arithmetic.py tests/network/test_forward.py",
    ),
    (
        "lab/random_streams.py",
        ") + 0.5) / (1 << 24)",
        ") + 0.0) / (1 << 24)",
        "tests/lab/test_random_streams.py",
    ),
    (
        "lab/random_streams.py",
        "scale = 1.0 / (1.0 - rate)",
        "scale = 1.0 / (1.0 + rate)",
        "tests/lab/test_random_streams.py",
    ),
    ("base/portable.py", "quarter >= 2", "quarter > 2", "tests/base/test_nearest_float.py"),
    ("base/portable.py", "PLACES = 192", "PLACES = 60", "tests/base/test_nearest_float.py"),
    ("base/portable.py", "2 * noise", "0 * noise", "tests/base/test_nearest_float.py"),
    (
        "paper/counter.py",
        "waves * (2 * start + 1)",
        "waves * (2 * start - 1)",
        "tests/paper/test_counter_and_memory.py",
    ),
    (
        "paper/counter.py",
        "0.5, 1.0) / each(sin",
        "1.0, 1.0) / each(sin",
        "tests/paper/test_counter_and_memory.py",
    ),
    (
        "network/lowering/position_codes.py",
        "1 << self.count.bit_length()",
        "1 << (self.count.bit_length() + 1)",
        "tests/golden/test_golden.py",
    ),
    (
        "network/lowering/staircase.py",
        "frexp(distance / 2)[1] - 1",
        "frexp(distance / 2)[1]",
        "tests/network/test_mlp_builder.py tests/network/test_gadgets.py",
    ),
    ("exporting/lowering.py", "power - (fraction == 0.5)", "power", "tests/exporting/test_rounding.py"),
    (
        "exporting/lowering.py",
        "-2.0 * (scale * seen.logit + LEAD)",
        "2.0 * (scale * seen.logit + LEAD)",
        "tests/exporting/test_from_compiled.py",
    ),
    ("lab/tasks/batches.py", "< self.config.reveal", "<= 1 - self.config.reveal", "tests/lab/tasks"),
    ("lab/tasks/batches.py", "states + self.num_letters", "states", "tests/lab/tasks"),
    (
        "base/files.py",
        "os.replace(temporary, target)",
        "target.write_bytes(b'')",
        "tests/base/test_atomic.py",
    ),
    ("check/transformer/mlp.py", "~(margins > 0)", "~(margins > -1)", "tests/check/test_readout.py"),
    (
        "exporting/from_compiled.py",
        "few_bits(value, 12)",
        "few_bits(value, 53)",
        "tests/exporting/test_rounding.py",
    ),
    (
        "proving/witness/search.py",
        "few_bits(float(least / parts), 32)",
        "float(least / parts)",
        "tests/golden/test_golden.py",
    ),
    (
        "check/arithmetic/format.py",
        "Real(lo + bias - off, hi + bias + off)",
        "Real(lo + bias, hi + bias)",
        f"{TOYS} -k dot",
    ),
    (
        "check/arithmetic/format.py",
        "Real(lo - off, hi + off).outward(off)\n        far",
        "Real(lo, hi)\n        far",
        TOYS,
    ),
    (
        "check/recurrent/closure.py",
        "if not (lead > 0).all():",
        "if not (lead >= 0).all():",
        "tests/recurrent/test_recurrent_weights.py -k ties",
    ),
    (
        "check/recurrent/boxes.py",
        "if not (leads > 0).all():",
        "if not (leads > -9).all():",
        "tests/lab/provable/test_checker_inside.py",
    ),
    (
        "check/recurrent/boxes.py",
        "(low[0] <= 0) & (high[0] >= 0)",
        "(low[0] <= 0) | (high[0] >= 0)",
        "tests/lab/provable/test_checker_inside.py",
    ),
    (
        "check/recurrent/balls.py",
        "on | (self.middle + self.radius <= 0)",
        "on | (self.middle <= 0)",
        "tests/recurrent/test_bounds.py",
    ),
    (
        "check/ground.py",
        "_step_out(high, ~exact, np.inf)",
        "high",
        "tests/check/test_real.py",
    ),
    (
        "check/recurrent/cells.py",
        " or not np.isfinite(array).all()",
        "",
        "tests/recurrent/test_recurrent_files.py",
    ),
    (
        "proving/witness/search.py",
        "np.maximum(place - distance, 0)",
        "np.maximum(place - distance - 1, 0)",
        "tests/proving/test_completeness.py",
    ),
    (
        "proving/claims.py",
        "-floor(portable_bound(-share) * 1e6) / 1e6",
        "share",
        "tests/golden/test_golden.py -k report",
    ),
    (
        "base/portable.py",
        "to_integral_value(ROUND_FLOOR)",
        "to_integral_value()",
        "tests/base/test_nearest_float.py",
    ),
    (
        "construct/tight/leaf_programs.py",
        "reached[max(count - r // places, 0)]",
        "reached[count - r // places]",
        "tests/construct",
    ),
    (
        "construct/tight/leaf_programs.py",
        "act == PUSH and 0 < h <= top",
        "act == PUSH and 0 < h < top",
        COMPILED,
    ),
    (
        "recurrent/recurrent_weights.py",
        "automaton.table.reshape(-1)",
        "automaton.table.T.reshape(-1)",
        "tests/recurrent/test_recurrent_weights.py",
    ),
    (
        "exporting/from_compiled.py",
        "(got != right).any(axis=1)",
        "(got != right).all(axis=1)",
        "tests/exporting/test_half_types.py",
    ),
    (
        "lab/experiments/store.py",
        "and scale in (None, member.scale)",
        "and scale not in (None, member.scale)",
        "tests/lab/experiments/test_store.py",
    ),
    (
        "lab/experiments/experiment.py",
        "_extent(records) > _extent(best",
        "_extent(records) < _extent(best",
        "tests/lab/experiments/test_sweep.py tests/lab/experiments/test_published_records.py",
    ),
    (
        "cascade/congruences.py",
        "strict=True))) == len(first)",
        "strict=True))) >= 1",
        "tests/cascade/test_plan_checks.py tests/cascade/test_congruences.py",
    ),
    (
        "algebra/stabilizer_chain.py",
        "level == len(self.levels) and residue == self.rows.one",
        "level == len(self.levels)",
        "tests/algebra/test_stabilizer_chain.py",
    ),
    (
        "cli/options.py",
        "if not math.isfinite(number):",
        "if math.isinf(number):",
        "tests/cli/test_every_option.py tests/cli/test_bad_input.py",
    ),
    (
        "cli/verify.py",
        "int(not verdict.certified)",
        "int(verdict.certified)",
        "tests/cli/test_verdict_texts.py -k another_automaton",
    ),
    (
        "cli/verify.py",
        "    if out.is_dir():\n",
        "    if not out.is_dir():\n",
        "tests/cli/test_verdict_texts.py -k proved_again",
    ),
    (
        "cli/verify.py",
        "text=verdict.argument if as_argument else verdict.text",
        "text=verdict.text",
        "tests/cli/test_verdict_texts.py -k covers",
    ),
    (
        "cli/output.py",
        "ensure_ascii=plain",
        "ensure_ascii=not plain",
        "tests/cli/test_texts.py -k plain_ascii",
    ),
    (
        "cli/output.py",
        "f\"{line[: MAX_ERROR - tail - len('error:  … ')]} … {line[-tail:]}\"",
        "f\"{line[: MAX_ERROR - len('error:  … ')]} … {line[-tail:]}\"",
        "tests/cli/test_texts.py -k error_line",
    ),
    (
        "automata/words.py",
        "letter {place + 1} is ",
        "letter {place} is ",
        "tests/cli/test_texts.py -k small_batches",
    ),
    (
        "cli/circuit.py",
        "int(report.counterexample is not None)",
        "int(report.counterexample is None)",
        "tests/paper/test_threshold_circuit.py -k wrong_circuit",
    ),
    (
        "cli/barrington.py",
        "int(not report.agrees)",
        "int(report.agrees)",
        "tests/paper/test_barrington.py -k wrong_network",
    ),
    (
        "cli/simulate.py",
        "observe=observe",
        "observe=not observe",
        "tests/cli/test_automata_commands.py -k simulate",
    ),
    (
        "cli/options.py",
        "and option.name not in without",
        "and option.name in without",
        "tests/recurrent/test_verdicts.py -k Transformers",
    ),
    (
        "proving/claims.py",
        "        up_to=length,\n",
        "        up_to=None,\n",
        "tests/cli/test_verdict_texts.py -k covers",
    ),
    (
        "proving/outcome.py",
        'fails where there is no proof."""\n        return self.certified',
        'fails where there is no proof."""\n        return True',
        "tests/check/test_what_was_asked.py",
    ),
    (
        "proving/outcome.py",
        'mark = "✓" if check.passed else "✗"',
        'mark = "✗" if check.passed else "✓"',
        "tests/proving/test_certificate.py -k explains_itself",
    ),
    (
        "proving/outcome.py",
        "if verdict.identity.mismatch:",
        "if not verdict.identity.mismatch:",
        "tests/cli/test_verdict_texts.py -k covers",
    ),
    (
        "proving/claims.py",
        "elif match.get(target) != wanted:",
        "elif match.get(target) == wanted:",
        "tests/proving/test_identity.py tests/proving/test_renamings_by_brute_force.py",
    ),
    (
        "proving/claims.py",
        "if states.keys() != set(other.state_names) or",
        "if states.keys() != set(other.state_names) and",
        "tests/proving/test_identity.py",
    ),
    (
        "proving/claims.py",
        'observed = left.target == "observation"',
        "observed = False",
        "tests/proving/test_identity.py -k keeps_what_is_shown",
    ),
    (
        "check/transformer/words.py",
        '{"model_type": GPT2, **USUAL}.items()',
        "USUAL.items()",
        "tests/exporting/test_one_hypothesis_less.py -k trained",
    ),
    (
        "network/lowering/maps.py",
        "_tables(operation, context) if context.rounded else (False, False)",
        "(False, False)",
        "tests/construct/test_choices.py -k rounded",
    ),
    (
        "check/transformer/near.py",
        "SINGLE.inner.error(squares, d + MOMENTS, 2.0 * d) / (d * least * least)",
        "SINGLE.inner.error(np.ones(1), d + MOMENTS, 0.0)",
        "tests/proving/test_stock.py -k squares",
    ),
    (
        "check/transformer/near.py",
        "wide * (1 + np.abs(gain)) + np.abs(bias) / 2",
        "wide * (1 + np.abs(gain))",
        "tests/proving/test_stock.py -k finite_too",
    ),
    (
        "check/transformer/near.py",
        "reach, inverse = most + most.mean(axis=1, keepdims=True),",
        "reach, inverse = most,",
        "tests/proving/test_stock.py -k has_a_mean",
    ),
    (
        "check/transformer/near.py",
        "2 * np.maximum(first, last)",
        "2 * last",
        "tests/proving/test_stock.py -k deviation_first",
    ),
    (
        "check/transformer/near.py",
        "(1 + inverse + reach)",
        "(1 + inverse)",
        "tests/proving/test_stock.py -k deviation_first",
    ),
    (
        "check/arithmetic/format.py",
        " + reach + inverse.hi * np.abs(gain)",
        " + reach",
        "tests/check/test_norm.py -k what_overflows",
    ),
    (
        "check/arithmetic/format.py",
        "4 * (1 + np.abs(gain) + reach) * fmt.inner.tiny",
        "4 * (1 + np.abs(gain)) * fmt.inner.tiny",
        "tests/check/test_norm.py -k vanishes_before",
    ),
    (
        "check/transformer/running_error.py",
        'sum_error((value + self._all(self.values, "near")).sum(axis=1), count)',
        "sum_error(value.max(axis=1), count)",
        "tests/proving/test_stock.py -k finite_too",
    ),
    (
        "check/transformer/words.py",
        "len(prefix) <= 1",
        "len(prefix) <= 2",
        "tests/proving/test_stock.py -k prefix",
    ),
    (
        "check/transformer/words.py",
        "return all(np.array_equal(row, places <= t) for t, row in enumerate(mask[0, 0]))",
        "return True",
        "tests/proving/test_stock.py -k buffers",
    ),
    (
        "coq/stored.py",
        "cell_of(net, certificate.claim)",
        'cell_of(type(net)(net.kind, {**config, "bos": False}, net.tensors), certificate.claim)',
        "tests/coq/test_contracting.py -k reads_more",
    ),
    (
        "network/gpt2/stock.py",
        'return {**marks, "letters": letters, "states": outputs, "target": meant.target}',
        'return {**marks, "target": meant.target}',
        "tests/proving/test_stock.py -k other_tokens",
    ),
    (
        "network/gpt2/stock.py",
        'if types != {config.get("dtype", config.get("torch_dtype"))}:',
        "if len(types) > 1:",
        "tests/proving/test_stock.py -k type_of_its_tensors",
    ),
    (
        "proving/verification.py",
        "if named_tokens(meant or named, tokens) != claimed:",
        "if not claimed:",
        "tests/proving/test_stock.py -k other_tokens",
    ),
    (
        "proving/stock.py",
        "return with_outputs(meant, tokens)",
        "return meant",
        "tests/proving/test_stock.py -k stand_for_observations",
    ),
    (
        "lab/interpret/extraction.py",
        "answers.automaton.outputs[answers.automaton.start]",
        "answers.automaton.start",
        "tests/lab/interpret/test_extraction.py -k accepts_or_rejects",
    ),
    (
        "check/claim.py",
        "max(states + letters, outputs) <= SHOWN",
        "states + letters <= SHOWN",
        "tests/check/test_named_in_the_claim.py -k very_many",
    ),
    (
        "check/claim.py",
        'some = "every word" if self.words == ALL else "some words"',
        'some = "every word"',
        "tests/check/test_named_in_the_claim.py -k fewer_words",
    ),
    (
        "check/claim.py",
        'logit = f"the largest of its first {outputs} logits"',
        'logit = "its largest logit"',
        "tests/check/test_named_in_the_claim.py",
    ),
    (
        "check/claim.py",
        "return text if text and not set(text) & set(' \",') else",
        "return text if text else",
        "tests/check/test_named_in_the_claim.py",
    ),
    (
        "check/ground.py",
        "if not np.asarray(condition).all():",
        "if not np.asarray(condition).any():",
        "tests/check/test_lies.py",
    ),
    (
        "check/__main__.py",
        'f"{one_line(line)}\\n" for line',
        'f"{line}\\n" for line',
        "tests/cli/test_hostile_files.py -k pass_for_a_line",
    ),
    (
        "check/certificate.py",
        'payload["krohn"] == VERSION and',
        'payload["krohn"] != VERSION and',
        "tests/cli/test_verdict_texts.py -k proved_again",
    ),
    (
        "check/certificate.py",
        'Certificate(claim_from(payload["claim"]), rules, version, payload["witness"])',
        'Certificate(claim_from(payload["claim"]), rules, version, None)',
        "tests/cli/test_verdict_texts.py -k proved_again",
    ),
    (
        "paper/grid_program.py",
        "scale = 1.0 / (2.0 * run.total)",
        "scale = 1.0 / run.total",
        "tests/paper",
    ),
    (
        "exporting/ground_truth.py",
        "c, each in enumerate(layout.moments[2 * index + 2])",
        "c, each in enumerate(layout.moments[2 * index + 1])",
        "tests/exporting",
    ),
    ("lab/tasks/batches.py", "HELD_OUT = -1", "HELD_OUT = 0", "tests/lab/tasks"),
    (
        "lab/interpret/understand.py",
        "self.scrambled = Bench(nothing, nothing.run(self.judge.letters))",
        "self.scrambled = self.judging",
        "tests/lab/interpret",
    ),
    ("algebra/varieties.py", "compose(s, e) == e for", "compose(e, s) == e for", "tests/algebra"),
    (
        "automata/sampling.py",
        "late = np.flatnonzero(numbers >= end)",
        "late = np.flatnonzero(numbers > end)",
        "tests/automata/test_sampling.py",
    ),
    (
        "algebra/counters.py",
        "powers[(x - k) % p,], element",
        "powers[(x + k) % p,], element",
        "tests/algebra",
    ),
    (
        "automata/quotients.py",
        "if empty and mine[first[0]] != theirs[first[1]]:",
        "if mine[first[0]] != theirs[first[1]]:",
        "tests/automata",
    ),
    (
        "cascade/levels.py",
        "here = [x for x in range(len(tiles)) if x in self.reached]",
        "here = [x for x in range(len(tiles)) if x == self.initial]",
        "tests/cascade",
    ),
    (
        "cascade/merging.py",
        "levels[target] = max(levels[target], levels[index] + 1)",
        "levels[target] = max(levels[target], levels[index])",
        "tests/cascade",
    ),
    (
        "depth/group_scheme.py",
        "result.append(words[compose(mover, b)] + words[inverse(b)])",
        "result.append(words[compose(mover, b)] + words[one])",
        "tests/depth",
    ),
    (
        "recurrent/delta_weights.py",
        "to = first if change is None else change",
        "to = 0 if change is None else change",
        "tests/recurrent",
    ),
    (
        "lab/training/optimizers.py",
        "average[row].lerp_(w, 1.0 - keep)",
        "average[row].lerp_(w, keep)",
        "tests/lab/training",
    ),
    (
        "lab/training/state.py",
        "self.waited = torch.where(due, 0, self.waited)",
        "self.waited = torch.where(due, self.waited, self.waited)",
        "tests/lab/training",
    ),
    (
        "lab/training/state.py",
        "math.ceil(-24.0 * math.log(2.0)",
        "math.ceil(-4.0 * math.log(2.0)",
        "tests/lab/training",
    ),
    (
        "lab/suite/patching.py",
        "self.at += 3 * len(heads) + 1",
        "self.at += 3 * len(heads)",
        "tests/lab/suite",
    ),
    (
        "lab/experiments/summary.py",
        'key=lambda record: float(record.metrics["accuracy"])',
        "key=lambda record: record.accuracy",
        "tests/lab/experiments",
    ),
    (
        "lab/provable/exact.py",
        "tail = (1 - confidence) / 2",
        "tail = 1 - confidence",
        "tests/lab/provable/test_exact.py",
    ),
    (
        "explorer/trained_results.py",
        'record.sequences,\n        "seconds"',
        'record.replicate,\n        "seconds"',
        "tests/explorer",
    ),
    (
        "network/gpt2/reference.py",
        "x.dtype.type(0.044715)",
        "x.dtype.type(0.04715)",
        "tests/network",
    ),
    (
        "proving/attempts.py",
        "if states[machine.shown[own, at]] != automaton.shows[wanted]:",
        "if states[machine.shown[own, at]] != automaton.shows[right]:",
        "tests/proving",
    ),
    (
        "automata/equality.py",
        "fails = automaton.num_states\n",
        "fails = automaton.start\n",
        "tests/automata/test_equality.py",
    ),
]


def unfit(root: Path, mutant: tuple[str, str, str, str]) -> str | None:
    """Why the mutant cannot be applied, or no test can find it; ``None`` if all that it names is there."""
    file, old, new, tests = mutant
    path = root / "src" / "krohn" / file
    if not path.is_file() or (count := path.read_text().count(old)) != 1:
        return f"{file} must have {old!r} once; " + (
            f"it has it {count} times" if path.is_file() else "no such file"
        )
    if old == new:
        return f"{file}: {old!r} must become something else"
    words = tests.split()
    named = [root / word.partition("::")[0] for word in words if word.startswith("tests/")]
    if not named or not all(place.exists() for place in named):
        return f"{file}: there must be tests at {tests}"
    for wanted in [words[at + 1] for at, word in enumerate(words) if word == "-k"]:
        modules = [
            one for place in named for one in (place.rglob("test_*.py") if place.is_dir() else [place])
        ]
        if not any(wanted in text for module in modules for text in (module.stem, *tests_in(module))):
            return f"{file}: no test of {tests.partition(' -k')[0]} has {wanted!r} in its name"
    return None


def tests_in(module: Path) -> list[str]:
    """Names of the tests of a module, with all its strings, which may be their parameters."""
    return re.findall(r"^def (test_\w+)", module.read_text(), re.M) + re.findall(
        r'"([^"\n]+)"', module.read_text()
    )


def survives(root: Path, mutant: tuple[str, str, str, str]) -> str | None:
    """Why the mutant survived; ``None`` if a test caught it."""
    if why := unfit(root, mutant):
        return why
    file, old, new, tests = mutant
    path = root / "src" / "krohn" / file
    original = path.read_text()
    path.write_text(original.replace(old, new))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root / "tests")])}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *MARKED, *tests.split()]
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    finally:
        path.write_text(original)
    if done.returncode == 1:
        return None
    return f"{tests} did not find {file}: {old!r} → {new!r} (pytest ended with {done.returncode})"


def copied(root: Path) -> Path:
    """Copies everything that the tests read."""
    root.mkdir()
    for part in ("src", "tests", "benchmarks", "tools", "research", "results", "docs", "pyproject.toml"):
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, root / part)
    return root


def main() -> int:
    """Exit status 1 if a mutant survives."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="only mutants with this text in their file, change or tests",
    )
    parser.add_argument(
        "--check", action="store_true", help="only whether each can be applied; nothing is run"
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of processes, each in its own copy")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if any(options.only in part for part in mutant)]
    if options.check:
        left = [why for mutant in chosen if (why := unfit(ROOT, mutant))]
        print("\n".join([*left, f"{len(chosen) - len(left)} of {len(chosen)} can be applied"]))
        return 1 if left else 0
    left = []
    with tempfile.TemporaryDirectory() as folder, ThreadPool(options.jobs) as pool:
        copies: Queue[Path] = Queue()
        for number in range(options.jobs):
            copies.put(copied(Path(folder, str(number))))

        def tried(mutant: tuple[str, str, str, str]) -> str | None:
            root = copies.get()
            try:
                return survives(root, mutant)
            finally:
                copies.put(root)

        for mutant, why in zip(chosen, pool.imap(tried, chosen), strict=True):
            print(f"{'found' if why is None else 'SURVIVES'}\t{mutant[0]}\t{mutant[2]}", flush=True)
            left += [] if why is None else [why]
    print("\n".join([*left, f"{len(chosen) - len(left)} of {len(chosen)} found"]))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
