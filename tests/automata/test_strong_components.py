from hypothesis import given
from hypothesis import strategies as st

from krohn.automata.graph import strong_components
from krohn.automata.quotients import component_numbers

graphs = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=4), min_size=n, max_size=n)
)


@given(graphs)
def test_components_are_mutual_reachability_in_reverse_topological_order(graph: list[list[int]]) -> None:
    def reachable(start: int) -> set[int]:
        seen, queue = {start}, [start]
        for vertex in queue:
            for target in graph[vertex]:
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
        return seen

    components = strong_components(graph)
    component = component_numbers(components)
    reach = [reachable(vertex) for vertex in range(len(graph))]
    for a in range(len(graph)):
        for b in range(len(graph)):
            assert (component[a] == component[b]) == (a in reach[b] and b in reach[a])
        assert all(component[b] <= component[a] for b in graph[a])
    assert sorted(set(component)) == list(range(len(components)))


@given(graphs, st.integers(0, 3))
def test_nodes_before_the_first_are_left_out(graph: list[list[int]], first: int) -> None:
    """The first nodes stand for others that no edge leads to."""
    shifted = [[]] * first + [[target + first for target in targets] for targets in graph]
    components = strong_components(shifted, first)
    assert [[node - first for node in part] for part in components] == strong_components(graph)
