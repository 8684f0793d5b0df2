"""The points near others, found through neighbor lists, compiled.

Points of one home list are looked at together. They go through the lists in the order of the least
distance that any point of the home list can have from theirs, and a point is done as soon as that
exceeds its r: a heap has that order as far as it is needed. r, the
distance of the m-th nearest point, shrinks as points are found. Distances are rough first, from
products in single precision whose error is bounded, and what can be near by them is measured in
double precision. A point's neighbors are *sure* if no two of them are so near to equally far that
rounding could decide, and if each stands for one row.
"""

import numpy as np
from numba import boolean, float32, float64, int64, njit, types, void

_WIDTH = 256  # points whose distances are computed at once; they stay in the nearest cache
_BLOCK = 32  # of these are passed over together if none is near
_SURE = 8  # times TIE, between squares: double the difference that makes distances a tie
U = np.uintp  # whose indices are never negative, which spares a check

_OPTIONS = {"nogil": True, "error_model": "numpy"}
ROUGH = {"contract", "nsz", "reassoc"}  # sums in any order: their error is bounded as a whole


@njit(fastmath=ROUGH, **_OPTIONS)
def _fill(rough, offsets, place, size, width, left, row, dimensions):
    """Write squared distances from a point to those of a list, from products."""
    size, place, width = U(size), U(place), U(width)
    row, dimensions = U(row), U(dimensions)
    last, shift = place + dimensions * size, left[row, dimensions]
    for p in range(width):
        rough[p] = offsets[last + p] + shift
    j = U(0)
    while j + U(4) <= dimensions:
        a, b = left[row, j], left[row, j + U(1)]
        c, d = left[row, j + U(2)], left[row, j + U(3)]
        first = place + j * size
        second, third, fourth = first + size, first + size + size, first + size + size + size
        for p in range(width):
            rough[p] += (
                a * offsets[first + p]
                + b * offsets[second + p]
                + c * offsets[third + p]
                + d * offsets[fourth + p]
            )
        j += U(4)
    if j + U(2) <= dimensions:
        a, b, first = left[row, j], left[row, j + U(1)], place + j * size
        second = first + size
        for p in range(width):
            rough[p] += a * offsets[first + p] + b * offsets[second + p]
        j += U(2)
    if j < dimensions:
        a, first = left[row, j], place + j * size
        for p in range(width):
            rough[p] += a * offsets[first + p]


@njit(fastmath=ROUGH | {"nnan"}, **_OPTIONS)
def _least(rough, place):
    place = U(place)
    number = rough[place]
    for p in range(U(_BLOCK)):
        number = min(number, rough[place + p])
    return number


@njit(fastmath=ROUGH, **_OPTIONS)
def _along(offsets, row, towards):
    """Return how far a point lies from its center towards another."""
    row = U(row)
    length = np.float32(0)
    for j in range(U(offsets.shape[1])):
        length += offsets[row, j] * towards[j]
    return length


@njit(**_OPTIONS)
def _sift(keys, lists, place, total):
    """Let a list sink to where it belongs in a heap: the least key first, of equals the first."""
    key, own = keys[place], lists[place]
    while 2 * place + 1 < total:
        below = 2 * place + 1
        other = below + 1
        if other < total and (
            keys[other] < keys[below]
            or (keys[other] == keys[below] and lists[other] < lists[below])
        ):
            below = other
        if not (keys[below] < key or (keys[below] == key and lists[below] < own)):
            break
        keys[place], lists[place] = keys[below], lists[below]
        place = below
    keys[place], lists[place] = key, own


@njit(fastmath=ROUGH, **_OPTIONS)
def _apart(own, row, points, point):
    """Return the squared distance between two points."""
    row, point = U(row), U(point)
    square = 0.0
    for j in range(U(own.shape[1])):
        difference = own[row, j] - points[point, j]
        square += difference * difference
    return square


@njit(**_OPTIONS)
def _insert(heap, row, held, number):
    """Put a number on a row's heap of the least, its largest first; return how many are held."""
    wanted = heap.shape[1]
    place = held
    if held < wanted:
        while place > 0 and heap[row, (place - 1) // 2] < number:
            heap[row, place] = heap[row, (place - 1) // 2]
            place = (place - 1) // 2
        heap[row, place] = number
        return held + 1
    place = 0
    while 2 * place + 1 < wanted:
        below = 2 * place + 1
        if below + 1 < wanted and heap[row, below + 1] > heap[row, below]:
            below += 1
        if heap[row, below] <= number:
            break
        heap[row, place] = heap[row, below]
        place = below
    heap[row, place] = number
    return held


@njit(**_OPTIONS)
def _collect(rough, size, first, error, row, bound, heap, held, count, places, lows, again):
    """Take note of what can be near among the points of a list, and lower the bound of r².

    A negative count says that these were too many for once; then only the bound is of interest.
    """
    capacity, wanted = places.shape[1], heap.shape[1]
    for p in range(size, (size + _BLOCK - 1) // _BLOCK * _BLOCK):
        rough[p] = np.inf
    limit = bound[row] + error
    for start in range(0, size, _BLOCK):
        if _least(rough, start) > limit:
            continue
        for p in range(start, min(start + _BLOCK, size)):
            square = rough[p]
            if not square <= limit:
                continue
            n = count[row]
            if n == capacity:
                n = 0
                for old in range(capacity):
                    if lows[row, old] <= bound[row]:
                        places[row, n], lows[row, n] = places[row, old], lows[row, old]
                        n += 1
                if n == capacity:
                    n = -1
                count[row] = n
            if n >= 0:
                places[row, n], lows[row, n] = first + p, square - error
                count[row] = n + 1
            if not again and (held[row] < wanted or square + error < bound[row]):
                held[row] = _insert(heap, row, held[row], square + error)
                if held[row] == wanted:
                    bound[row] = heap[row, 0]
                    limit = bound[row] + error


@njit(**_OPTIONS)
def _settle(own, row, points, members, bound, count, places, lows, squares, near):
    """Write what is near, nearest first, and the squared distances; return how many points."""
    found = 0
    for old in range(count[row]):
        if not lows[row, old] <= bound[row]:
            continue
        point = members[places[row, old]]
        square = _apart(own, row, points, point)
        place = found
        while place > 0 and squares[place - 1] > square:
            squares[place], near[row, place] = squares[place - 1], near[row, place - 1]
            place -= 1
        squares[place], near[row, place] = square, point
        found += 1
    return found


def _given(kind, dimensions):
    return types.Array(kind, dimensions, "C", readonly=True)


@njit(**_OPTIONS)
def scan_list(lists, how, own, same, home, near, found, sure):
    """Find the points near those of one list; the arguments are those of `scan_lists`, in two tuples."""
    points, members, begin, centers, radius, reach, offsets, sizes = lists
    slack, wanted, rounding, room, tie = how
    total, dimensions = own.shape
    rough = np.empty(_WIDTH, np.float32)
    away, unsure = np.empty(total), np.empty(total)
    offset = np.empty((total, dimensions), np.float32)
    left, error = np.empty((total, dimensions + 1), np.float32), np.empty(total, np.float32)
    bound, radii = np.full(total, np.inf, np.float32), np.full(total, np.inf)
    heap, held = np.empty((total, wanted), np.float32), np.zeros(total, np.int64)
    count, places = np.zeros(total, np.int64), np.empty((total, near.shape[1]), np.int64)
    lows = np.empty((total, near.shape[1]), np.float32)
    alive, visiting = np.empty(total, np.int64), np.empty(total, np.int64)
    for row in range(total):
        square = 0.0
        for j in range(dimensions):
            offset[row, j] = own[row, j] - centers[home, j]
            square += (own[row, j] - centers[home, j]) ** 2
        away[row] = np.sqrt(square)
        unsure[row] = room * away[row]
    far = np.empty(len(centers))
    for b in range(len(centers)):
        far[b] = np.sqrt(_apart(centers, home, centers, b))
    keys, lists = np.empty(len(centers)), np.empty(len(centers), np.int64)
    towards = np.zeros(dimensions, np.float32)

    for again in (False, True):
        # The second time for rows that had too many points in reach before the bound was good.
        living = 0
        for row in range(total):
            if not again or count[row] < 0:
                alive[living], count[row] = row, 0
                living += 1
        if living == 0:
            break
        for b in range(len(centers)):
            keys[b], lists[b] = far[b] - slack - reach[home, b], b
        keys[home] = -np.inf
        for place in range(len(centers) // 2 - 1, -1, -1):
            _sift(keys, lists, place, len(centers))
        waiting = len(centers)
        while waiting:
            b, key = lists[0], keys[0]
            waiting -= 1
            keys[0], lists[0] = keys[waiting], lists[waiting]
            _sift(keys, lists, 0, waiting)
            if b != home:
                for j in range(dimensions):
                    length = far[b] if far[b] > 0 else 1.0
                    towards[j] = (centers[b, j] - centers[home, j]) / length
            still, visits = 0, 0
            for place in range(living):
                row = alive[place]
                if key - away[row] - unsure[row] > radii[row]:
                    continue
                alive[still] = row
                still += 1
                if b == home or key - _along(offset, row, towards) - unsure[row] <= radii[row]:
                    visiting[visits] = row
                    visits += 1
            living = still
            if living == 0:
                break
            for place in range(visits):
                shift = 0.0
                for j in range(dimensions):
                    difference = own[visiting[place], j] - centers[b, j]
                    left[place, j] = -2 * difference
                    shift += difference * difference
                left[place, dimensions] = shift
                error[place] = rounding * (shift + radius[b] * radius[b])
            size, base = begin[b + 1] - begin[b], begin[b] * (dimensions + 1)
            for first in range(0, size, _WIDTH):
                some = min(_WIDTH, size - first)
                # Whole blocks are quicker: what is beyond means nothing and is passed over.
                width = (some + _BLOCK - 1) // _BLOCK * _BLOCK
                if base + dimensions * size + first + width > len(offsets):
                    width = some
                for place in range(visits):
                    row = visiting[place]
                    _fill(rough, offsets, base + first, size, width, left, place, dimensions)
                    _collect(
                        *(rough, some, begin[b] + first, error[place], row),
                        *(bound, heap, held, count, places, lows, again),
                    )
            for place in range(visits):
                row = visiting[place]
                radii[row] = np.sqrt(max(bound[row], np.float32(0)))

    squares = np.empty(near.shape[1])
    for row in range(total):
        sure[row], found[row] = False, 0
        if count[row] < 0:
            continue
        found[row] = _settle(own, row, points, members, bound, count, places, lows, squares, near)
        sure[row] = same[row] < 0 or near[row, 0] == same[row]
        for place in range(wanted):
            sure[row] &= sizes[near[row, place]] == 1
            if place + 1 < found[row]:
                sure[row] &= squares[place + 1] > squares[place] * (1 + _SURE * tie)


@njit(
    void(
        *(_given(float64, 2), _given(float64, 2), _given(int64, 1), _given(int64, 1)),
        *(_given(int64, 1), _given(int64, 1), _given(float64, 2), _given(float32, 1)),
        *(_given(float32, 2), _given(float32, 1), _given(int64, 1)),
        *(float64, int64, float64, float64, float64),
        *(int64[:, ::1], int64[::1], boolean[::1]),
    ),
    cache=True,
    **_OPTIONS,
)
def scan_lists(
    points,  # u × d
    own,  # q × d: the points that are asked for
    same,  # q: their numbers among all; −1: they are others
    homes,  # q: their lists, equal ones together
    members,  # as the next five, those of `Lists`
    begin,
    centers,
    radius,
    reach,
    offsets,  # flat
    sizes,  # u: how many rows each point stands for
    slack,
    wanted,
    rounding,
    room,  # what rounding takes from a gap, per distance from the center of the home list
    tie,
    near,  # q × most: gets the points that are near
    found,  # q: gets how many; 0 for points in a crowd
    sure,  # q: gets whether the first `wanted` and their order are beyond doubt
):
    lists = (points, members, begin, centers, radius, reach, offsets, sizes)
    how = (slack, wanted, rounding, room, tie)
    begun = 0
    for end in range(1, len(homes) + 1):
        if end == len(homes) or homes[end] != homes[begun]:
            part = slice(begun, end)
            scan_list(
                *(lists, how, own[part], same[part], homes[begun]),
                *(near[part], found[part], sure[part]),
            )
            begun = end


# Which neighbors count, row by row, compiled.
#
#     minimise  wᵀ G w    subject to   Σw = 1,  w ≥ 0
#
# Block pivoting: on the support S the optimum is w ∝ G_S⁻¹ 1. Neighbors with a negative weight leave
# S and those whose slope, G w, is below the objective enter it, all at once, until neither is left.
# A row is *sure* if no weight and no slope is so near its limit that rounding could have decided.

PIVOTINGS = 20  # of a row, before it is left to others; three or four are the rule
_NEAR = 1e-8  # of a slope to the objective, relatively: far above rounding and `weights.OPTIMAL`


@njit(
    void(types.Array(float64, 3, "C", readonly=True), float64, boolean[:, ::1], boolean[::1]),
    nogil=True,
    cache=True,
    error_model="numpy",
)
def support(grams, ridge, counts, sure):
    """Write which neighbors count, b × k, and whether that is sure, b."""
    total, k = grams.shape[0], grams.shape[1]
    system = np.empty((k, k))
    weights = np.empty(k)
    chosen = np.empty(k, np.uintp)
    for row in range(total):
        sure[row] = False
        for i in range(k):
            counts[row, i] = True
        for _ in range(PIVOTINGS):
            s = 0
            for i in range(k):
                if counts[row, i]:
                    chosen[s] = i
                    s += 1
            if s == 0:
                break
            size = U(s)
            for i in range(size):
                weights[i] = 1.0
                for j in range(i, size):
                    system[i, j] = grams[row, chosen[i], chosen[j]]
            for j in range(size):  # Gauss, on the upper triangle
                for i in range(j + U(1), size):
                    factor = system[j, i] / system[j, j]
                    weights[i] -= factor * weights[j]
                    for c in range(i, size):
                        system[i, c] -= factor * system[j, c]
            mass = 0.0
            for back in range(size):
                i = size - U(1) - back
                for c in range(i + U(1), size):
                    weights[i] -= system[i, c] * weights[c]
                weights[i] /= system[i, i]
                mass += weights[i]
            objective = 1 / mass
            least = _NEAR * objective / ridge + 10 * _NEAR
            changed, close = False, False
            for i in range(size):
                weights[i] *= objective
                close |= abs(weights[i]) < least
            for j in range(U(k)):
                if counts[row, j]:
                    continue
                slope = 0.0
                for i in range(size):
                    slope += grams[row, j, chosen[i]] * weights[i]
                close |= abs(slope - objective) < _NEAR * objective
                if slope < objective:
                    counts[row, j] = True
                    changed = True
            for i in range(size):
                if weights[i] < 0:
                    counts[row, chosen[i]] = False
                    changed = True
            if not changed:
                sure[row] = not close and mass > 0
                break
