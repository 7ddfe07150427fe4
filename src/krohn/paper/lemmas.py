"""The paper's lemmas: finite tables as MLPs (mlp-1d, mlp-nd), and heads.

Heads look back along a circle, add up prefixes, count modulo n, and remember.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from krohn.base.portable import cos, each, log, sin
from krohn.errors import InvalidInput
from krohn.network.transformer import SIN, Head, Layer, Matrix, Mlp
from krohn.paper.blocks import basis, lift_mlp

# Lemma "1D discrete function interpolation with an MLP": a finite table of one number, 4 ReLU a point.
#
# The indicator of a point is a trapezium with plateau [x−Δ/4, x+Δ/4] and feet at x±Δ/2, so the network
# equals the table on every input that is within Δ/4 of a point. Integer points at distance 1 give integer
# weights, hence exact arithmetic in any float type that holds 4·B_x/Δ + 2.


UNITS_PER_POINT = 4
CORNERS = np.array([-2.0, -1.0, 1.0, 2.0])
"""Corners of the trapezium around a point, in units of Δ/4."""
SIGNS = np.array([1.0, -1.0, -1.0, 1.0])


def separation(points: Sequence[float]) -> float:
    """Δ: the least distance of two points; 1 when there are fewer than two."""
    ordered = np.sort(np.asarray(points, dtype=np.float64))
    if len(ordered) < 2:
        return 1.0
    gap = float(np.diff(ordered).min())
    if gap <= 0:
        raise InvalidInput("the points of a table must be distinct")
    return gap


def indicator_units(points: Sequence[float], gap: float) -> tuple[float, Matrix]:
    """Slope (the same for all) and biases of the 4·|X| units; unit 4i+j is corner j of point i."""
    slope = 4.0 / gap
    centres = np.repeat(np.asarray(points, dtype=np.float64), UNITS_PER_POINT)
    return slope, -(slope * centres + np.tile(CORNERS, len(points)))


def interpolate_1d(points: Sequence[float], values: npt.ArrayLike, gap: float | None = None) -> Mlp:
    """The two-layer network R → R^d that maps ``points[i] ± gap/4`` to ``values[i]``."""
    table = table_rows(points, values)
    slope, bias = indicator_units(points, separation(points) if gap is None else gap)
    first = np.full((1, len(bias)), slope)
    second = np.repeat(table, UNITS_PER_POINT, axis=0) * np.tile(SIGNS, len(points))[:, None]
    return Mlp((first, second), (bias, np.zeros(table.shape[1])))


def table_rows(points: Sequence[float], values: npt.ArrayLike) -> npt.NDArray[Any]:
    """The values as a matrix with one row for each point."""
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if not len(points) or len(table) != len(points):
        raise InvalidInput(f"a table needs one value per point; got {len(points)} and {len(table)}")
    return table


# Lemma "Threshold with an MLP": 1[x > 0] for |x| ≥ Δ, with inputs perturbed by up to Δ/4. Erratum 2: the
# printed ramp runs over [−Δ, Δ] and gives 0.875 at x = Δ, ξ = −Δ/4; over [−Δ/2, Δ/2] it has the stated norms.


def threshold(gap: float) -> Mlp:
    """ψ(x) = ((x + Δ/2)/Δ)_+ − ((x − Δ/2)/Δ)_+."""
    if gap <= 0:
        raise InvalidInput(f"the gap of a threshold must be positive; got {gap}")
    first = np.array([[1 / gap, 1 / gap]])
    return Mlp((first, np.array([[1.0], [-1.0]])), (np.array([0.5, -0.5]), np.zeros(1)))


# Lemma "Softmax approximates hard max": how close soft attention comes to copying one position. Erratum 30:
# its proof writes e^t for e^(z_t); the mask before it hides t > t′ where it must hide t′ > t.


def selection_error(count: int, gap: float) -> float:
    """‖softmax(z) − e_max‖₁ ≤ 2·T·e^(−γ) when every other of the T scores is at least γ below the best."""
    return 2.0 * count * math.exp(-gap)


def selection_gap(count: int, error: float) -> float:
    """The γ for which the lemma promises the given error: log(2T/ε)."""
    if count < 1 or error <= 0:
        raise InvalidInput(f"need at least one position and a positive error; got {count} and {error}")
    return math.log(2.0 * count / error)


# Lemma "General discrete function interpolation with an MLP": a finite table of several numbers.
#
# First layer: indicators of every value of every coordinate (Lemma 1D). Second layer: one unit per row of the
# table that counts matching coordinates. Third layer: sums the values of the rows that fire.
#
# Erratum 1: the printed bias −d_in of the second layer gives relu(d_in − d_in) = 0 at a match, so the printed
# network is constantly 0; the bias must be −(d_in − 1).


def interpolate_nd(points: npt.ArrayLike, values: npt.ArrayLike, match_bias: float | None = None) -> Mlp:
    """The three-layer network that maps every ``points[i] ± 1/4`` (∞-norm) to ``values[i]``.

    Values of one coordinate must be equal or 1 apart. ``match_bias`` replaces −(d_in − 1).
    """
    rows, table = validate(points, values)
    distinct = _distinct(rows)
    slope, first_bias = indicator_units([value for _, value in distinct], 1.0)
    first, second = np.zeros((rows.shape[1], len(first_bias))), np.zeros((len(first_bias), len(rows)))
    for number, (coordinate, value) in enumerate(distinct):
        units = slice(UNITS_PER_POINT * number, UNITS_PER_POINT * (number + 1))
        first[coordinate, units] = slope
        second[units, rows[:, coordinate] == value] = SIGNS[:, None]
    bias = -(rows.shape[1] - 1.0) if match_bias is None else match_bias
    biases = (first_bias, np.full(len(rows), bias), np.zeros(table.shape[1]))
    return Mlp((first, second, table), biases)


def _distinct(rows: Matrix) -> list[tuple[int, float]]:
    """Each coordinate with each of its values."""
    return [(i, float(value)) for i, column in enumerate(rows.T) for value in np.unique(column)]


def saturating_nd(points: npt.ArrayLike, values: npt.ArrayLike) -> Mlp:
    """The same function of integer points by indicators (1 − 4(|x − v| − ¼)_+)_+, exactly 0 or 1.

    One hidden layer more and half the units of the first; what follows adds whole numbers, so that the
    output is exact in short formats too, where the printed ramps cancel only up to rounding.
    """
    rows, table = validate(points, values)
    distinct = _distinct(rows)
    first, first_bias = np.zeros((rows.shape[1], 2 * len(distinct))), np.zeros(2 * len(distinct))
    match = np.zeros((len(distinct), len(rows)))
    for number, (coordinate, value) in enumerate(distinct):
        pair = slice(2 * number, 2 * number + 2)
        first[coordinate, pair] = [4.0, -4.0]
        first_bias[pair] = [-4.0 * value - 1.0, 4.0 * value - 1.0]
        match[number, rows[:, coordinate] == value] = 1.0
    cut: Matrix = np.repeat(-np.eye(len(distinct)), 2, axis=0)
    row_bias = np.full(len(rows), 1.0 - rows.shape[1])
    biases = (first_bias, np.ones(len(distinct)), row_bias, np.zeros(table.shape[1]))
    return Mlp((first, cut, match, table), biases)


def table_mlp(points: npt.ArrayLike, values: npt.ArrayLike, counting: str) -> Mlp:
    """The lemma as printed, or saturating if the counters are."""
    return saturating_nd(points, values) if counting == "steps" else interpolate_nd(points, values)


def validate(points: npt.ArrayLike, values: npt.ArrayLike) -> tuple[Matrix, Matrix]:
    """Points and values as matrices; a table that does not fit is refused."""
    rows, table = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if rows.ndim != 2 or not rows.size or len(rows) != len(table):
        raise InvalidInput(f"a table needs rows and one value per row; got {rows.shape} and {table.shape}")
    if len(np.unique(rows, axis=0)) != len(rows):
        raise InvalidInput("the rows of a table must be distinct")
    for column in rows.T:
        steps = np.diff(np.unique(column))
        if len(steps) and steps.min() < 1 - 1e-9:
            raise InvalidInput(f"values of one coordinate must be 1 apart; got {steps.min()}")
    return rows, table


# Proposition "Circular embeddings": positions as points on a circle, looked back at by a rotation.
#
# Erratum 3: the printed bound |⟨p, p'⟩| ≤ 1 − 2π²/T² is false (the absolute value fails at antipodal points,
# and cos(2π/T) > 1 − 2π²/T²). True for every T ≥ 2: ⟨p, p'⟩ ≤ 1 − 8/T², and 1 − 19.7/T² from T = 41 on.


def circle(indices: npt.ArrayLike, count: int) -> Matrix:
    """Points ``[len(indices), 2]``: index i sits at angle 2πi/count."""
    angle = 2.0 * math.pi * np.asarray(indices, dtype=np.float64) / count
    return np.stack([each(cos, angle), each(sin, angle)], axis=-1)


def rotation(angle: float) -> Matrix:
    """ρ = [[cos, sin], [−sin, cos]]: a row vector times ρ is turned by +angle."""
    cosine, sine = cos(angle), sin(angle)
    return np.array([[cosine, sine], [-sine, cosine]])


# The head of Lemma "modular counter" and Theorem 3: uniform attention, a padding token absorbs the rest.
#
# Query log(2T − t) on the flag of ⊥ gives ⊥ the weight (2T − t)/2T and every other visible position 1/2T, so
# the head computes prefix sums with one scale for all positions.


def absorber(positions: int, total: int) -> Matrix:
    """γ_i = log(2T − i) for every position, ⊥ = position 0 included.

    Erratum 16: Theorem 3 reads γ as a recency key, and the printed γ_⊥ = 0 makes ⊥ look like the newest
    position.
    """
    return each(log, 2.0 * total - np.arange(positions))


def prefix_sum_head(dim: int, source: int, target: int, flag: int, gamma: int) -> Head:
    """target_t = (1/2T)·Σ_{i ≤ t} source_i."""
    return Head(basis(dim, [gamma]), basis(dim, [flag]), basis(dim, [source]), basis(dim, [target]).T)


# The position code of Theorem 1, which a rotation can look back on: two channels, angle πt/T.
#
# A rotation of the keys by πk/T lets position t find t − k. Neighbours differ by 1 − cos(π/T) ~ 5/T² only, so
# scores must be of size T² and float32 loses the order between T = 3000 and 4096 (``computed_margin``).


@dataclass(frozen=True, eq=False)
class PositionCode:
    """``points[position]`` on a circle of the given period, and the factor on each matrix of a head."""

    points: Matrix
    period: float
    scale: float

    def key_rotation(self, distance: int) -> Matrix:
        """The matrix on keys that sends position i to where position i + distance is."""
        return rotation(2.0 * math.pi * distance / self.period)


def circle_code(positions: int, length: int, gamma: float) -> PositionCode:
    """One circle of period 2·length: the half circle holds positions 0 … length."""
    return PositionCode(circle(np.arange(positions), 2 * length), 2.0 * length, math.sqrt(gamma))


# The MLP of Lemma "modular counter": from the scaled prefix sum s = j/2T to (j + q₀) mod n.
#
# Erratum 12: the printed map is T·s mod n; the head computes (1/2T)·Σ σ, so it must be 2T·s, and q₀ must be
# added.
#
# ``relu``   Lemma 1D as printed: 4((n−1)T + 1) units.
# ``steps``  y − n·#{k : y ≥ kn}: one step per multiple of n, ⌊((n−1)T + q₀)/n⌋ + 1 units twice, then
#            n − 1 units twice to round. Steps saturate: they are exactly 0 or 1 in every float format.
# ``sin``    periodic activations: a function on Z_n is a sum of ⌊n/2⌋ sines (its Fourier series), so the
#            width does not depend on T; a last layer rounds (Lemma 1D on n values).


Counting = Literal["relu", "steps", "sin"]
COUNTINGS: tuple[str, ...] = get_args(Counting)


def modular_mlp(modulus: int, length: int, start: int = 0, counting: str = "relu") -> Mlp:
    """j/2T ↦ (j + start) mod modulus for 0 ≤ j ≤ (modulus − 1)·T, inputs within 1/8T."""
    if modulus < 1 or length < 1:
        raise InvalidInput(f"modulus and length must be at least 1; got {modulus} and {length}")
    if counting == "relu":
        sums = np.arange((modulus - 1) * length + 1)
        gap = 1.0 / (2.0 * length)
        return interpolate_1d((sums * gap).tolist(), (sums + start) % modulus, gap)
    if counting == "steps":
        return _steps(modulus, length, start)
    if counting == "sin":
        return _sines(modulus, length, start)
    raise InvalidInput(f"counting must be one of {', '.join(COUNTINGS)}; got {counting!r}")


def _steps(modulus: int, length: int, start: int) -> Mlp:
    """With y = 2T·s + q₀: r = y − n·#{k : y ≥ kn}, then #{k < n : r ≥ k}, which rounds; y is one unit.

    A step is (1 − (1 − 2(y − k + ¾))_+)_+. As a difference of two ReLU it would subtract large numbers, which
    short formats round; here nothing large is left after the second ReLU.
    """
    count = ((modulus - 1) * length + start) // modulus
    edges = modulus * np.arange(1, count + 1, dtype=np.float64)
    slopes = np.concatenate([np.full(count, -4.0 * length), [2.0 * length]])
    bias = np.concatenate([2.0 * (edges - start) - 0.5, [float(start)]])
    wraps = np.diag(np.concatenate([-np.ones(count), [1.0]]))
    residue = np.concatenate([np.full(count, -float(modulus)), [1.0]])
    values = np.arange(1, modulus, dtype=np.float64)
    rounds = residue[:, None] @ np.full((1, modulus - 1), -2.0)
    weights = (slopes[None, :], wraps, rounds, -np.eye(modulus - 1), np.ones((modulus - 1, 1)))
    ones = np.concatenate([np.ones(count), [0.0]])
    return Mlp(weights, (bias, ones, 2.0 * values - 0.5, np.ones(modulus - 1), np.zeros(1)))


def _sines(modulus: int, length: int, start: int) -> Mlp:
    """Fourier series of the table, then Lemma 1D to round it.

    Σ_k k·z^k = n/(z − 1) for a root of unity z = exp(−2πiw/n): wave w of the table (k + q₀) mod n has the
    amplitude 1/(2 sin(πw/n)), and as a sine the phase πw(2q₀ + 1)/n − π.
    """
    waves = np.arange(1, modulus // 2 + 1)
    # Both signs of a frequency fold into one real wave, but the Nyquist wave of an even modulus stands alone.
    amplitude = np.where(2 * waves == modulus, 0.5, 1.0) / each(sin, math.pi * waves / modulus)
    phase = math.pi * ((waves * (2 * start + 1)) % (2 * modulus) - modulus) / modulus
    frequency = 2.0 * math.pi * waves * 2.0 * length / modulus
    rounding = interpolate_1d(list(range(modulus)), list(range(modulus)))
    second = amplitude[:, None] @ rounding.weights[0]
    bias = rounding.biases[0] + 0.5 * (modulus - 1) * rounding.weights[0][0]
    codes = (np.full(len(waves), SIN), np.zeros(len(bias), dtype=np.int64))
    return Mlp((frequency[None, :], second, rounding.weights[1]), (phase, bias, np.zeros(1)), codes)


# Lemma "Simulating a modular counter": one layer, one head, three channels {value, ⊥, position}.


VALUE, BOS, LOG = 0, 1, 2


def counter_layer(modulus: int, length: int, start: int = 0, counting: str = "relu") -> Layer:
    """Prefix sum and remainder in place on the channels (value, ⊥, position)."""
    mlp = lift_mlp(modular_mlp(modulus, length, start, counting), [VALUE], [VALUE], 3)
    keep = np.array([0.0, 1.0, 1.0])
    return Layer((prefix_sum_head(3, VALUE, VALUE, BOS, LOG),), mlp, keep, keep)


# Lemma "Simulating a memory semiautomaton": the latest write, by one head on four channels.
#
# The head scores position j by c·(j/T − 2·1[no-op]): the printed matrices, not the printed text, which has −1
# and lets a no-op at j = T tie with the first position (erratum 13). Position 0 is an explicit write of q₀:
# the printed trick of giving no-ops the value q₀ breaks as soon as anything else is copied along (erratum
# 29).


def memory_score(states: int, length: int, sharp: bool = False) -> float:
    """c: T·log(16·|Q|·T) as printed; T·log(1 + 8·|Q|) is enough, for errors fall geometrically with age."""
    return length * log(1.0 + 8.0 * states if sharp else 16.0 * states * length)


def memory_head(dim: int, idle: int, recency: int, one: int, score: float, copies: dict[int, int]) -> Head:
    """The head that copies ``copies`` (from → to) from the latest position whose idle flag is 0."""
    query, key = np.zeros((dim, 2)), np.zeros((dim, 2))
    query[one] = [-2.0, 1.0]
    key[idle, 0] = key[recency, 1] = score
    return Head(query, key, basis(dim, list(copies)), basis(dim, list(copies.values())).T)
