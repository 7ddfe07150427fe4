"""The trusted part as a text: what it imports, and where it names rounding."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import krohn
from every import every

SOURCE = Path(__file__).parents[2] / "src" / "krohn" / "check"
FILES = sorted(SOURCE.rglob("*.py"))
ARITHMETIC = {"ground.py", "arithmetic/format.py", "arithmetic/products.py"}
ARITHMETIC |= {
    "transformer/running_error.py",
    "transformer/near.py",
    "transformer/words.py",
}  # networks that krohn did not write
ARITHMETIC |= {"graph/affine.py", "graph/head.py", "graph/columns.py"}  # graphs of modules
ARITHMETIC |= {"looped/block.py"}  # bounds of its own: boxes and lengths of vectors
ALLOWED = {"numpy", "krohn.errors", "krohn.check", "collections", "dataclasses", "functools", "itertools"}
ALLOWED |= {
    "abc",
    "base64",
    "contextlib",
    "hashlib",
    "json",
    "math",
    "os",
    "pathlib",
    "stat",
    "sys",
    "typing",
}


def name_of(path: Path) -> str:
    """Its place in the room, without the ending."""
    return path.relative_to(SOURCE).with_suffix("").as_posix()


@every("path", FILES)
def test_the_checker_imports_numpy_and_nothing_of_krohn_but_errors(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            parts = name.split(".")
            assert parts[0] in ALLOWED or ".".join(parts[:2]) in ALLOWED, name


def code_of(path: Path) -> str:
    """Without comments and texts; from Python 3.12 on the words of an f-string are tokens of their own."""
    left_out = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return " ".join(token.string for token in tokens if token.type not in left_out)


NAMES = ("eps", "finfo", "nextafter", "spacing", "OWN", "SAFE", "float32", "float16")
ROUNDING = re.compile(rf"\b({'|'.join(NAMES)})\b" + r"|\. (unit|tiny|bits)\b|\*\* -|\b\d*\.?\d*e-\d+")


@every("path", [p for p in FILES if p.relative_to(SOURCE).as_posix() not in ARITHMETIC])
def test_no_unit_roundoff_is_named_outside_the_arithmetic(path: Path) -> None:
    assert ROUNDING.search(code_of(path)) is None


def test_the_pattern_finds_roundings_where_they_are() -> None:
    for name in ARITHMETIC:
        assert ROUNDING.search(code_of(SOURCE / name))
    for text in ("x * 2.0 ** -53", "np . finfo", "1e-9", "fmt . inner . unit"):
        assert ROUNDING.search(text)


@every("path", FILES)
def test_no_assert_guards_a_step_of_the_proof(path: Path) -> None:
    assert not [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Assert)]


@every("path", FILES)
def test_no_python_max_hides_a_nan(path: Path) -> None:
    """max(0.0, nan) is 0.0: only whole numbers may be compared so."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("max", "min"):
            floats = [
                arg for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, float)
            ]
            assert not floats, ast.unparse(node)


ALONE = """
import sys
from krohn.check.__main__ import main
assert main(["net", "certificate.json"]) == 0
print(sorted(name[12:].replace(".", "/") for name in sys.modules if name.startswith("krohn.check.")))
"""


def test_a_cascade_is_certified_without_the_rules_for_scans_orders_and_exports(tmp_path: Path) -> None:
    network = krohn.compile("S4", 16, method="cascade", dtype="float32")
    krohn.save(network, tmp_path / "net")
    krohn.verify(network, "float32", second_opinion=False).save(tmp_path / "certificate.json")
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    loaded = set(ast.literal_eval(done.stdout.splitlines()[-1]))
    unused = {name for part in AFTER_CASCADES for name in parts()[part]}
    assert {name_of(path) for path in FILES if path.stem != "__init__"} - loaded == unused


PARTS = {
    "the proof of a cascade": (
        "ground arithmetic/format transformer/checker transformer/stream "
        "transformer/head_rules transformer/mlp"
    ),
    "files, claims and witnesses": (
        "__main__ claim certificate rules files/folders files/reader files/witness"
    ),
    "scans, orders, exports and parts": (
        "transformer/scan transformer/order transformer/parts transformer/gpt2 "
        "transformer/words transformer/near transformer/running_error "
        "arithmetic/products transformer/many_keys transformer/each_word"
    ),
    "recurrent networks": (
        "arithmetic/sums recurrent/cells recurrent/stacks recurrent/closure recurrent/chunks "
        "recurrent/balls recurrent/boxes recurrent/rules"
    ),
    "looped networks": "looped/block looped/rules",
    "graphs of modules": "graph/graph graph/affine graph/evaluate graph/columns graph/head graph/proof",
}
AFTER_CASCADES = (
    "scans, orders, exports and parts",
    "recurrent networks",
    "looped networks",
    "graphs of modules",
)


def parts() -> dict[str, list[str]]:
    return {name: files.split() for name, files in PARTS.items()}


def test_every_file_belongs_to_one_part() -> None:
    assert sorted(name for files in parts().values() for name in files) == sorted(
        name_of(path) for path in FILES if path.stem != "__init__"
    )


ROOT = SOURCE.parents[2]
ATTACKS = ROOT / "research" / "checker-tests.md"


@every("page", [ATTACKS, ROOT / "docs" / "checker.md"])
def test_every_file_that_a_page_about_the_tests_names_is_there(page: Path) -> None:
    there = {
        path.relative_to(ROOT).as_posix()
        for folder in ("src", "tests", "research", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    }
    named = set(re.findall(r"[\w/-]+\.py\b", page.read_text()))
    assert named
    assert [name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in there)] == []


def entries(node: ast.expr) -> int:
    """How many entries the text of a collection lists."""
    match node:
        case ast.Dict(keys=found):
            return len(found)
        case ast.DictComp(generators=[one]) | ast.GeneratorExp(generators=[one]):
            return entries(one.iter)
        case ast.List(elts=found) | ast.Set(elts=found) | ast.Tuple(elts=found):
            return sum(entries(one.value) if isinstance(one, ast.Starred) else 1 for one in found)
    raise AssertionError(ast.unparse(node))


def listed(path: str, name: str) -> int:
    """The same for a collection that a file defines, which is not run."""
    body = ast.parse((ROOT / path).read_text()).body
    assigned = [node for node in body if isinstance(node, ast.Assign | ast.AnnAssign)]
    named = {
        ast.unparse(one.targets[0] if isinstance(one, ast.Assign) else one.target): one.value
        for one in assigned
    }
    return entries(named[name])


def test_the_page_about_the_attacks_counts_them() -> None:
    rules, below = "tests/check/test_one_less.py", "test_one_less_{}.py"
    bases, changes, harmless = (listed(rules, name) for name in ("BASES", "CHANGES", "HARMLESS"))
    rooms = {"grain": "UNITS", "file": "FILES", "cell": "CELLS"}
    units, files, cells = (listed(f"tests/check/{below.format(room)}", rooms[room]) for room in rooms)
    ours, stock = bases * changes - harmless, listed("tests/proving/test_stock.py", "ONE_LESS")
    text = " ".join(ATTACKS.read_text().split())
    for phrase in (
        f"**One hypothesis less**, {ours + stock + units + files + cells} times",
        f"`{rules}`, {ours} ({changes} changes of {bases} networks, {harmless} of them harmless)",
        f"`tests/proving/test_stock.py`, {stock};",
        f"`tests/check/{below.format('grain')}`, `{below.format('file')}` and `{below.format('cell')}`, "
        f"{units}, {files} and {cells}.",
        f"{listed('tests/check/mistakes.py', 'SEEN')} mistakes of earlier versions",
        f"changes networks in {listed('tests/check/changes.py', 'CHANGES')} ways",
        f"for exports ({listed('research/folder_mutants.py', 'CHANGES')} kinds",
        f"by hand in {listed('tests/check/test_norm.py', 'BROKEN')} ways",
        f"tells {listed('tests/check/test_order.py', 'LIES')} lies",
        f"breaks each of them in {listed('tests/check/test_order.py', 'BROKEN')} ways",
    ):
        assert phrase in text, phrase
