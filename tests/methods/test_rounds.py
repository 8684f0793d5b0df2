import numpy as np

from cfl_cli.methods.interface import Course, parts_of, without_each


def test_each_of_several_folds_is_a_part():
    dealt = [np.array([0, 2]), np.array([1, 3, 4])]
    (one, first), (other, second) = parts_of(dealt, None)
    assert (one, other) == (0, 1)
    np.testing.assert_array_equal(dealt[0][first], dealt[0])
    np.testing.assert_array_equal(dealt[1][second], dealt[1])


def test_a_single_fold_has_two_halves_that_split_no_group():
    fold = np.array([1, 2, 5, 6, 8])
    groups = np.array([0, 7, 7, 0, 0, 9, 9, 0, 7])
    parts = parts_of([fold], groups)
    assert [number for number, _ in parts] == [0, 0]
    assert sorted(np.concatenate([rows for _, rows in parts]).tolist()) == [0, 1, 2, 3, 4]
    one, other = ({*groups[fold[rows]].tolist()} for _, rows in parts)
    assert not one & other
    assert len(one | other) == 2


def test_sums_without_each_part_leave_it_out_to_the_bit():
    sums = np.random.default_rng(0).random((3, 4))
    changed = sums.copy()
    changed[1] += 1e9
    np.testing.assert_array_equal(without_each(sums)[1], without_each(changed)[1])
    np.testing.assert_allclose(without_each(sums)[0], sums[1] + sums[2])


def test_a_course_ends_once_it_has_not_gained_for_long_and_keeps_the_first_best():
    course = Course(2, 0.1, fewest=2, most=50)
    assert [course.add(score) for score in (0.0, 1.0, 1.0, 0.5)] == [True, True, False, False]
    assert (course.best, course.ended) == (1, True)
    assert not course.add(2.0)
    assert course.best == 1


def test_a_course_that_gains_goes_on_to_the_last_round():
    course = Course(2, 0.1, fewest=2, most=5)
    for score in range(9):
        course.add(float(score))
    assert (course.best, course.ended) == (5, True)


def test_a_course_has_some_rounds_before_it_is_judged():
    course = Course(1, 0.1, fewest=4, most=50)
    for score in (0.0, -1.0, -1.0, -1.0):
        course.add(score)
        assert not course.ended
    course.add(3.0)
    assert (course.best, course.ended) == (4, False)


def test_a_course_that_falls_ends_once_it_may():
    course = Course(2, 0.1, fewest=6, most=50)
    for score in (0.0, 1.0, *np.arange(0.0, -4.0, -1.0)):
        course.add(float(score))
        assert not course.ended
    course.add(-9.0)
    assert (course.best, course.ended) == (1, True)
