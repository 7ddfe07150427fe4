"""What registers can hold, one row for every kind.

A row is the name of such a register, unique in its network and written into files, and what it holds in plain
words, as pages and the terminal say it. The fields that it names are those that a meaning of the kind must
have. Sets of letters and places in the word are meanings too: registers speak *of* them.
"""

KINDS: dict[str, tuple[str, ...]] = {
    # A register whose author gave it no more than a name.
    "named": ("{text}", "{text}"),
    # Letters, states and positions.
    "letter": ("letter", "the letter, as a number"),
    "symbol": ("symbol", "the letter, as a number"),
    "state": ("{part}state", "the state, as a number"),
    "read off": ("read off", "the state, as a number"),
    "position": ("t", "the position in the word"),
    "position from 1": ("t mod {modulus}", "the position, counted 1 to {modulus} again and again"),
    "position from 0": ("t mod {modulus} from 0", "the position in the word, mod {modulus}"),
    "folded position": ("t to {start} mod {modulus}", "the position in the word, {folded}"),
    # What heads make of other registers.
    "sum": ("sum of {of}", "the sum so far of this: {of}"),
    "sum at places": ("sum of {of} where {second}", "how often {either} {counted}"),
    "back": ("{of} ({number} back)", "{of}, {number} back"),
    # Sets of letters, the last ones by what a first layer has noted beside them.
    "letters": ("{letters}", "the letters {listed}"),
    "wrong letters": ("wrong letters", "letters out of turn"),
    "fatal letters": ("fatal letters", "fatal letters"),
    "alternating": (
        "{of} at odd, {second} at even places",
        "letters {of} at odd and {second} at even positions",
    ),
    "at place": ("{letters} at place {number}", "letters {own} at position {number}"),
    "settling": ("state known", "letters that settle the state"),
    "settling one": ("state {state} known", "letters that settle that the state is {state}"),
    "allowing": ("state {state} possible", "letters after which state {state} is possible"),
    "excluding": ("state {state} excluded", "letters after which state {state} is excluded"),
    "some that move": ("letter {number} may move", "letters {own} that may change the state"),
    "noted letter": ("letter {start}, note {number} = {residue}", "letters {own} where {of} is {residue}"),
    # What is known of such a set: by its letters, or in words for the set.
    "is": ("is {of}", "1 if the letter is {either}", "1 for {of}"),
    "writes": ("writes {of}", "1 if the letter is {either}", "1 for {of}"),
    "label": ("label of {of}", "which letter it is, of {either}", "what it says, of {of}"),
    "count": (
        "count[{of}] mod {modulus}",
        "how often {either} has come, mod {modulus}",
        "how many {of} so far, mod {modulus}",
    ),
    "ever": ("min(count[{of}], 1)", "has {either} come yet? 0 no, 1 yes", "have {of} come yet? 0 no, 1 yes"),
    "count up to": (
        "min(count[{of}], {number})",
        "how often {either} has come, at most {number}",
        "how many {of} so far, at most {number}",
    ),
    "number": ("number of {of}", "how often {either} has come", "how many {of} so far"),
    "latest letter": ("latest[{of}]", "which came last, of {either}", "what the last said, of {of}"),
    "place flag": ("place {number} for {of}", "1 where {second} {counted}"),
    # The first and last places of such a set, and what is made of them.
    "first": ("earliest[{of}]", "the first {either}", "the first of {of}"),
    "last": ("latest[{of}]", "the last {either}", "the last of {of}"),
    "residue of": ("place of {of} mod {modulus}", "the position of {of}, mod {modulus}"),
    "folded place of": ("place of {of} mod {modulus} from {start} on", "the position of {of}, {folded}"),
    # Letters in context: the tier, the contexts, events, and what is made of events.
    "begins": ("before the word", "1 before the first letter"),
    "any letter": ("any letter", "1 for every letter"),
    "on tier": ("on the tier, {number} before it", "1 if the letter can change the state"),
    "number on tier": (
        "letters of the tier mod {modulus}",
        "how many letters that can change the state so far, mod {modulus}",
    ),
    "number on circle": (
        "letters of the tier on a circle of {modulus}",
        "how many letters that can change the state so far, mod {modulus}",
    ),
    "latest on tier": ("latest on the tier: {of}", "of the last letter that can change the state: {of}"),
    "back on tier": (
        "{number} back on the tier: {of}",
        "of the letter {number} before it, of those that can change the state: {of}",
    ),
    "context": ("context {number}", "1 after certain letters"),
    "window": ("window", "what the last letters say of the state, as a number"),
    "letter after context": ("{of} in context", "1 if the letter is {either} and follows certain letters"),
    "event": ("event {number}", "1 if the letter follows certain letters"),
    "events counted": ("count {number}", "how many letters of one kind so far, up to a bound"),
    "met": ("sequence {number}: one met", "1 once the next letter of a sequence has come"),
    "two met": ("sequence {number}: two met", "how many of two letters of a sequence have come in order"),
    "next mark": ("sequence {number}: next", "1 if this letter continues a sequence"),
    "met in order": ("sequence {number}", "how many letters of a sequence have come in order"),
    "left well": ("path {number}: kept", "1 if the first letter that left was one of a path"),
    "left in order": ("path {number}", "how far a path was followed, and whether it was left"),
    "place of mark": ("sequence {number}: first place", "the position of the first mark"),
    "latest place": ("sequence {number}: last place", "the position of the last letter that may follow it"),
    "places apart": ("sequence {number}: distance", "how far the last letter stands after the first mark"),
    "stands after": ("sequence {number}: after", "1 if the last letter stands after the first mark"),
    # A state read off boxes of values.
    "reaches": ("{of} from {number} on", "1 if this is at least {number}: {of}"),
    "case": ("case {number}", "1 in one case of those that decide the state"),
    "digit": ("state digit {number}", "digit {number} of the number of the state"),
    # A scan: where windows of letters take a point.
    "point": ("{number} after {length} letters", "where {window} {point}"),
    "earlier point": ("{number} after {length} letters but the last {start}", "where {window} {point}"),
    # Groups: counters by section, each moved by the letter and the counters before it.
    "section letter": ("{at} section {section} letter", "{acting}, as a number"),
    "step": ("{at} section {section} step mod {modulus}{no}", "{counter}"),
    "counter": ("{at} section {section} count mod {modulus}{no}", "{counter}"),
    # The same beside a clock: what a letter adds depends on its place too.
    "alike places": (
        "places {number} mod {modulus}",
        "1 at places of kind {number}, where each letter adds the same",
    ),
    "step at places": (
        "{at} section {section} step mod {modulus}{no} at places {start}",
        "what the letter adds at places of kind {start}",
    ),
    "counter by place": (
        "{at} section {section} count mod {modulus}{no} by place",
        "what the letters so far add up to, mod {modulus}; what each adds depends on its place",
    ),
    "step ahead": (
        "{at} section {section} step mod {modulus}{no} ahead",
        "what the letter adds, as far as the state before does not matter",
    ),
    "step to come": (
        "{at} section {section} step mod {modulus}{no} to come",
        "what is added to that for the state reached",
    ),
    # Levels of a cascade: what the levels above show, and a memory moved by the counters.
    "stage": ("{at} stage", "what the levels before hold"),
    "reset": ("{at} reset", "1 if this letter writes the memory"),
    "target": ("{at} target", "the value that it writes"),
    "written": ("{at} written", "the value that it writes, less what the counters show by then"),
    "memory": ("{at} memory", "the value written last"),
    "place of reset": ("{at} place of reset", "where the memory was written last, mod {modulus}"),
    "tile": ("{at} tile", "the value at this level"),
    "now kind": ("{at} now kind", "which counters apply, as a number"),
    "now value": ("{at} now value", "the value before the counters move it"),
    "now by kind": ("{at} now by kind {number}", "where counters no. {number} move the value, if they apply"),
    "now tile": ("{at} now tile", "the value at this level"),
    "write kind": ("{at} write kind", "which counters apply where the memory is written, as a number"),
    "write value": ("{at} write value", "the value to be written, before the counters are undone"),
    "write by kind": (
        "{at} write by kind {number}",
        "the value to be written, less what counters no. {number} show, if they apply",
    ),
    "write tile": ("{at} write tile", "the value that it writes, less what the counters show by then"),
    # Parts of a plan, one driving the other.
    "block": ("{part}block", "the block of states, as a number"),
    "place in block": ("{part}place", "the place in the block, as a number"),
    "drive": ("{part}drive", "what the block and the letter do to the place in the block, as a number"),
    "state for": ("{of} state", "the state, as a number"),
    "error": ("{part}error", "1 if this letter is a mistake, as far as there was none before"),
    "failed": ("{part}failed", "1 once a mistake has been made"),
    # Counters that stop at both ends.
    "move": ("{part}step", "the move{moves}"),
    "move by letter": ("{part}step of letters", "the move of the letter"),
    "move by padding": ("{part}step of padding", "the moves before the word, which lead to the start"),
    "unclamped": ("{part}unclamped place", "the same plus a constant, mod {modulus}"),
    "on circle": ("{part}class", "that place, counted around a circle"),
    "circle residue": ("{part}class mod", "that place, counted around a circle"),
    "visit": ("{part}place visit {number}", "the last place seen that is {number} below on the circle"),
    "visits": ("{part}place visits", "the last places seen, added up"),
    "visit code": ("{part}place residue", "a code of the state: where it stands between the walls"),
    # Stacks.
    "bracket": ("{part}symbol", "the kind of bracket"),
    "act": ("{part}act", "whether the letter opens or closes"),
    "rise": ("{part}step", "1 if the letter opens, −1 if it closes"),
    "height": ("{part}height", "how many brackets are open, until the first mistake"),
    "key": ("{part}key", "the height at which this letter writes"),
    "query": ("{part}query", "the height at which this letter looks"),
    "removed": ("{part}removed", "the bracket that a closing one must match"),
    "held": ("{part}held at height {number}", "the bracket opened last at height {number}"),
    "on stack": ("{part}place {number}", "bracket {number} on the stack, from the bottom"),
    # The paper's own constructions: Theorem 1, Theorem 2 for one group, and Theorem 3.
    "map": ("map.{number}.{state}", "where {window} state {state}"),
    "map before": ("back.{number}.{state}", "where {window} state {state}"),
    "component coordinate": (
        "{number} group {start}",
        "coordinate {start} of the product in component {number}",
    ),
    "component copy": (
        "{number} copy {start}",
        "coordinate {start} of component {number} where it was set last",
    ),
    "component target": ("{number} target", "the state that the letter writes to component {number}, if any"),
    "component memory": ("{number} memory", "the state that component {number} was last set to"),
    "component value": ("{number} value", "the state of component {number}"),
    "component idle": ("{number} idle", "0 if the letter writes component {number}, 1 if it does not"),
    "component before": ("{number} previous", "the state of component {number} before the letter"),
    "group letter": (
        "{group} group {number} letter",
        "what the letter brings to coordinate {number} of component {group}",
    ),
    "group sum": (
        "{group} group {number} sum {start}",
        "the sum so far of coordinate {number} of component {group}",
    ),
    "group product": (
        "{group} group {number} product {start}",
        "the sum so far of coordinate {number} of component {group}, mod its size",
    ),
    "group turned": (
        "{group} group {number} turned {start}",
        "coordinate {number} of component {group}, turned by the last one",
    ),
    "axis move": ("move.{number}", "the move on axis {number}{moves}"),
    "axis sum": ("sum.{number}", "the sum of all moves on axis {number}, as if there were no walls"),
    "axis key": ("key.{number}", "that place, counted around a circle"),
    "axis visit": ("visit.{number}.{start}", "the last place seen that is {start} below on the circle"),
    "axis visits": ("visits.{number}", "the last places seen on axis {number}, added up"),
    "axis age": (
        "age.{number}.{start}",
        "how long ago the walk was where head {start} looks, as a logarithm",
    ),
    "axis bit": ("bit.{number}.{start}", "does the place on axis {number} reach {start}? 0 no, 1 yes"),
    "axis state": ("state.{number}", "the place on axis {number}"),
}
"""The name of a register of each kind and what it holds; a third text where a set of letters has no list."""
