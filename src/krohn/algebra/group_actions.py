"""Smaller actions of a permutation group: on an orbit, on blocks, on the cosets of a normal subgroup.

Each has a kernel; an action and its kernel split a group into two easier ones.
"""

from collections.abc import Sequence

from krohn.algebra.generated_group import GeneratedGroup
from krohn.algebra.permutation import Packed, Permutation, orbits
from krohn.algebra.stabilizer_chain import StabilizerChain
from krohn.errors import LimitExceeded


def action_on(group: GeneratedGroup, points: Sequence[int]) -> GeneratedGroup:
    """The action on an invariant set of points, renumbered in the given order."""
    index = {point: number for number, point in enumerate(points)}
    images = [[index[generator[point]] for point in points] for generator in group.generators]
    return GeneratedGroup(images, len(points))


def block_system(group: GeneratedGroup, tries: int | None = None) -> tuple[int, ...] | None:
    """The block number of every point for some non-trivial block system; ``None`` if the group is primitive.

    The group must be transitive. Tries the least block that holds 0 and each other point in turn, or
    only the first ``tries`` points.
    """
    for point in range(1, group.degree if tries is None else min(group.degree, tries + 1)):
        labels = least_blocks(group.generators, group.degree, point)
        if max(labels) > 0:
            return labels
    return None


def action_on_blocks(group: GeneratedGroup, labels: Sequence[int]) -> GeneratedGroup:
    """The action on the blocks of an invariant partition given by block numbers."""
    return GeneratedGroup([_block_images(g, labels) for g in group.generators], max(labels) + 1)


def kernel_on_blocks(group: GeneratedGroup, labels: Sequence[int]) -> GeneratedGroup:
    """The subgroup that maps every block to itself.

    The group acts on points and blocks together; the kernel is the pointwise stabiliser of all blocks.
    """
    degree, blocks = group.degree, max(labels) + 1
    extended = [
        (*generator, *(degree + image for image in _block_images(generator, labels)))
        for generator in group.generators
    ]
    chain = StabilizerChain(extended, degree + blocks, base=range(degree, degree + blocks))
    return type(group)([g[:degree] for g in chain.stabilizer_generators(blocks)], degree)


def compact_action(group: GeneratedGroup, small: int = 256) -> GeneratedGroup:
    """The same abstract group on fewer points if it is regular on more than ``small``, by blocks.

    From several points blocks are taken of blocks until few are left; the actions on them, side by
    side, are faithful as soon as together they give the order of the group.
    """
    if group.degree <= small or group.is_abelian or len(group.orbits()[0]) != group.order:
        return group
    group = _fewer_generators(group)
    partitions: list[tuple[int, ...]] = []
    best = 1
    for point in dict.fromkeys(generator[0] for generator in group.generators):
        labels = _blocks_of_blocks(group, point, small)
        if max(labels) >= 8 * small:
            continue  # its order would need a chain that is too large
        action = _side_by_side(group, [*partitions, labels])
        if action.order == group.order:
            return action
        if action.order > best:
            best = action.order
            partitions.append(labels)
    return group


def _fewer_generators(group: GeneratedGroup) -> GeneratedGroup:
    """Generators of a semiregular group, each of which leads 0 out of the orbit under those before it."""
    chosen: list[Permutation] = []
    reached = {0}
    for generator in group.generators:
        if generator[0] not in reached:
            chosen.append(generator)
            reached = set(orbits(chosen, group.degree)[0])
    return type(group)(chosen, group.degree)


def _side_by_side(group: GeneratedGroup, partitions: Sequence[tuple[int, ...]]) -> GeneratedGroup:
    """The action on the blocks of several invariant partitions at once."""
    generators: list[list[int]] = [[] for _ in group.generators]
    for labels in partitions:
        for images, generator in zip(generators, group.generators, strict=True):
            offset = len(images)
            images.extend(offset + image for image in _block_images(generator, labels))
    return GeneratedGroup(generators, len(generators[0]))


def _blocks_of_blocks(group: GeneratedGroup, point: int, small: int) -> tuple[int, ...]:
    """The block number of every point after taking blocks of blocks, the first to hold 0 and ``point``."""
    labels = tuple(range(group.degree))
    finer: tuple[int, ...] | None = least_blocks(group.generators, group.degree, point)
    while finer is not None and 0 < max(finer) < group.degree - 1:
        labels = tuple(finer[label] for label in labels)
        group = action_on_blocks(group, finer)
        finer = block_system(group, tries=32) if group.degree > small else None
    return labels


def action_on_cosets(group: GeneratedGroup, normal: GeneratedGroup, limit: int = 20_000) -> GeneratedGroup:
    """The quotient by a normal subgroup as a permutation group of its right cosets."""
    index = group.order // normal.order
    if index > limit:
        raise LimitExceeded(
            f"a quotient must have at most {limit} elements; this one has {index}; raise `limit`"
        )
    chain = normal.chain
    numbers = chain.numbers
    generators = [numbers.pack(generator) for generator in group.generators]
    # The identity stands for its coset only if no element of N moves a base point down.
    cosets = [_least_in_coset(chain, numbers.one)]
    coset = {numbers.unpack(cosets[0]): 0}
    images: list[list[int]] = [[] for _ in generators]
    for representative in cosets:
        for number, generator in enumerate(generators):
            product = _least_in_coset(chain, numbers.multiply(representative, generator))
            key = numbers.unpack(product)
            if key not in coset:
                coset[key] = len(cosets)
                cosets.append(product)
            images[number].append(coset[key])
    return GeneratedGroup(images, len(cosets))


def _least_in_coset(chain: StabilizerChain, packed: Packed) -> Packed:
    """The element of the coset ``N · packed`` whose base images are least, level by level: one per coset."""
    for level in chain.levels:
        point = min(level.orbit, key=lambda candidate: int(packed[candidate]))
        packed = chain.numbers.multiply(level.representative[point], packed)
    return packed


def _block_images(generator: Permutation, labels: Sequence[int]) -> list[int]:
    images = [0] * (max(labels) + 1)
    for point, label in enumerate(labels):
        images[label] = labels[generator[point]]
    return images


def least_blocks(generators: Sequence[Permutation], degree: int, point: int) -> tuple[int, ...]:
    """The finest invariant partition that puts 0 and ``point`` together (Atkinson's algorithm)."""
    parent = list(range(degree))

    def find(member: int) -> int:
        while parent[member] != member:
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member

    parent[point] = 0
    queue = [(0, point)]
    for first, second in queue:
        for generator in generators:
            left, right = find(generator[first]), find(generator[second])
            if left != right:
                parent[right] = left
                queue.append((generator[first], generator[second]))
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(find(member), len(numbers)) for member in range(degree))
