"""A table over several registers as one staircase over a linear code of its inputs.

Meaning: ``outputs = rows[inputs]``. Error: the code may be off by a quarter of its spacing (at least 1/4),
that is Σ|cᵢ|·εᵢ ≤ 1/4, and the outputs do not move.
"""

import numpy as np

from krohn.construct.lowering.map_context import MapContext
from krohn.construct.lowering.staircase import staircase
from krohn.construct.lowering.table_code import TableCode, best_code
from krohn.network.operations import Table


def lower_table(operation: Table, context: MapContext) -> None:
    """Outputs share one code, or take one each where that needs fewer units."""
    given = np.array([row for row, _ in operation.rows], dtype=np.int64)
    results = np.array([row for _, row in operation.rows], dtype=np.int64)
    joint = best_code(given, results)
    single = [best_code(given, results[:, [column]]) for column in range(results.shape[1])]
    if sum(code.steps for code in single) < joint.steps:
        for name, code in zip(operation.outputs, single, strict=True):
            _emit(operation.inputs, (name,), code, context)
    else:
        _emit(operation.inputs, operation.outputs, joint, context)


def _emit(inputs: tuple[str, ...], outputs: tuple[str, ...], code: TableCode, context: MapContext) -> None:
    terms = tuple((name, factor) for name, factor in zip(inputs, code.coefficients, strict=True) if factor)
    channels, columns = context.write_columns(outputs, code.values)
    signals = staircase(context.builder, context.sum_of(terms, 0), code.points.astype(np.float64), columns)
    for channel, signal in zip(channels, signals, strict=True):
        context.signals[channel] = signal
