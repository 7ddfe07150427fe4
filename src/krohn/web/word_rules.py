"""Patterns for names of registers and heads, and their sentences; the first match wins."""

Rules = tuple[tuple[str, str], ...]

COUNTER = r"(sum of )?((?:\S+ )*level \d+ )section (\d+) (step|count) mod (\d+)(?: no\. (\d+))?"

CLASSES: tuple[tuple[str, str, str], ...] = (
    (r"is (.+)", "1 if the letter is {}", "1 for {}"),
    (r"(?:sum of is|number of) (.+)", "how often {} has come", "how many {} so far"),
    (r"count\[(.+)\] mod (\d+)", r"how often {} has come, mod \2", r"how many {} so far, mod \2"),
    (r"min\(count\[(.+)\], 1\)", "has {} come yet? 0 no, 1 yes", "have {} come yet? 0 no, 1 yes"),
    (r"min\(count\[(.+)\], (\d+)\)", r"how often {} has come, at most \2", r"how many {} so far, at most \2"),
    (r"writes (.+)", "1 if the letter is {}", "1 for {}"),
    (r"label of (.+)", "which letter it is, of {}", "what it says, of {}"),
    (r"latest\[([^]]+)\]", "which came last, of {}", "what the last said, of {}"),
    (r"most recent label of (.+) where writes .*", "finds the last {}", "finds the last of {}"),
)
"""What is known of a set of letters: by its letters, or in words for the set."""

LABELS: Rules = (
    (r"wrong letters", "letters out of turn"),
    (r"state known", "letters that settle the state"),
    (r"state (.+) known", r"letters that settle that the state is \1"),
    (r"state (.+) (possible|excluded)", r"letters after which state \1 is \2"),
    (r"(may|must) move", r"letters that \1 change the state"),
    (r"(.+) at odd, (.+) at even places", r"letters \1 at odd and \2 at even positions"),
    (r"(.+) at place (\d+)", r"letters \1 at position \2"),
    (r"letter (.+) may move", r"letters \1 that may change the state"),
    (r"letter (.+), note (\d+) = (\d+)", r"letters \1 where note \2 is \3"),
)
"""Sets of letters, some by what a first layer has noted beside them."""

ENDS: Rules = (
    (r"latest\[([^]]+)\]", r"the last \1"),
    (r"earliest\[([^]]+)\]", r"the first \1"),
    (r" at 0 mod 2\b", " at an even position"),
    (r" at 1 mod 2\b", " at an odd position"),
    (r" = 1 and t is 0 mod 2", " at an even position"),
    (r" = 1 and t is 1 mod 2", " at an odd position"),
)
"""How the first and last places of letters are called, inside other names."""

STACK = {
    "step": "1 if the letter opens, −1 if it closes",
    "sum of step": "brackets opened minus brackets closed",
    "symbol": "the kind of bracket",
}
"""What these names mean where there is a stack."""

HEADS: Rules = (
    (
        r"latest unclamped place where class = class -(\d+) mod .*",
        r"finds the last time it stood \1 below this, on the circle",
    ),
    (r"latest symbol where key = (\d+)", r"finds the bracket opened last at height \1"),
    (r"latest symbol where key = query.*", "finds the bracket that this letter would close"),
    (r"latest error where error = 1", "looks for a mistake"),
    (r"most recent .*level \d+ (?:target|written)\b.* where .* reset = 1", "finds the value written last"),
    (r"(?:most recent|latest) t.* where (?:writes|is) (.+?)(?: = 1)?", r"finds the last place of \1"),
    (r"earliest t.* where is (.+?)(?: = 1)?", r"finds the first place of \1"),
)
"""Heads that look for one position."""

RULES: Rules = (
    (r"letter|symbol|.*level \d+ section 1 letter", "the letter, as a number"),
    (r".*level \d+ section \d+ letter", "what the letter does, given the counters before, as a number"),
    (r"t", "the position in the word"),
    (r"t mod (\d+)", r"the position, counted 1 to \1 again and again"),
    (r"t mod (\d+) from 0", r"the position in the word, mod \1"),
    (r"min\(t, (\d+)\)", r"the position in the word, but at most \1"),
    (r"t is 0 mod 2", "1 at even positions"),
    (r"t is 1 mod 2", "1 at odd positions"),
    (r"t is (\d+) mod (\d+)", r"1 at positions that are \1 mod \2"),
    (r"t to (\d+) mod (\d+)", r"the position in the word, from \1 on mod \2"),
    (r"position of (the .+)", r"the position of \1"),
    (r"place of (the .+) mod (\d+) from (\d+) on", r"the position of \1, from \3 on mod \2"),
    (r"place of (the .+) mod (\d+)", r"the position of \1, mod \2"),
    (r"place of (the .+)", r"the position of \1"),
    (r"distance of (the .+) after (the .+)", r"how far \1 stands after \2"),
    (r"(the .+) after (the .+)", r"does \1 stand after \2? 0 no, 1 yes"),
    (r"read off", "the state, as a number"),
    (r"state", "the state, as a number"),
    # Gridworlds.
    (r"sum of step", "the sum of all moves, as if there were no walls"),
    (r"unclamped place", "the same plus a constant, so that it is never negative"),
    (r"class(?: mod)?", "that place, counted around a circle"),
    (r"place visit (\d+)", r"the last place seen that is \1 below on the circle"),
    (r"place visits", "the last places seen, added up"),
    (r"place residue", "a code of the state: where it stands between the walls"),
    # Stacks.
    (r"act", "whether the letter opens or closes"),
    (r"height", "how many brackets are open"),
    (r"key", "the height at which this letter writes"),
    (r"query", "the height at which this letter looks"),
    (r"removed", "the bracket that a closing one must match"),
    (r"error", "1 if this letter is a mistake"),
    (r"failed", "1 once a mistake has been made"),
    (r"held at height (\d+)", r"the bracket opened last at height \1"),
    (r"place (\d+)", r"bracket \1 on the stack, from the bottom"),
    # Memories.
    (r".*level \d+ reset", "1 if this letter writes the memory"),
    (r".*level \d+ target", "the value that it writes"),
    (r".*level \d+ written", "the value that it writes, less what the counters show by then"),
    (r".*level \d+ memory", "the value written last"),
    (r".*level \d+ place of reset", "where the memory was written last"),
    (r".*level \d+ tile", "the value at this level"),
    (r"sum of .*section \d+ step mod \d+ ahead", "the sum of that so far"),
    (r".*section \d+ step mod \d+ ahead", "what the letter adds, as far as the state before does not matter"),
    (r".*section \d+ step mod \d+ to come", "what is added to that for the state reached"),
    (r".*level \d+ stage", "what the levels before hold"),
)
