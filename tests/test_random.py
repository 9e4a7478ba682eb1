"""Random streams are reproducible, independent and uniform."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mercer._random import SEED_BITS, Stream, as_seed

FALSE_ALARM = 1e-6


def test_seeds():
    assert as_seed(5) == 5
    assert as_seed(np.int64(5)) == 5
    assert as_seed(None) != as_seed(None)
    for make in (np.random.default_rng, np.random.RandomState):
        assert as_seed(make(0)) == as_seed(make(0))
        assert as_seed(make(0)) != as_seed(make(1))
        source = make(0)
        assert as_seed(source) != as_seed(source)
        assert as_seed(make(3)) < 1 << SEED_BITS
    for wrong in (-1, 1 << SEED_BITS, "0", True, 1.5):
        with pytest.raises(ValueError, match="random_state must be"):
            as_seed(wrong)


def test_golden_words():
    # Pins key derivation and generator: these numbers may never change.
    assert Stream(0, "golden").words(3).tolist() == GOLDEN_WORDS
    assert Stream(0, "golden").child("signs").signs((8,)).tolist() == GOLDEN_SIGNS


GOLDEN_WORDS = [2607847382341551874, 2437842752324627170, 18182717018871032094]
GOLDEN_SIGNS = [1, 1, 1, -1, 1, 1, 1, -1]


def test_addresses_do_not_collide():
    streams = [
        Stream(0),
        Stream(1),
        Stream(0, "a"),
        Stream(0, "a", "b"),
        Stream(0, "ab"),
        Stream(0, 1),
        Stream(0, "1"),
        Stream(0, "a").child(1),
        Stream(0, "a", "1"),
    ]
    assert len({stream.words(1)[0] for stream in streams}) == len(streams)


DRAWS = {
    "signs": lambda rng, n: rng.signs((n, 3)),
    "turns": lambda rng, n: rng.quarter_turns((n, 3)),
    "buckets": lambda rng, n: rng.buckets(7, (n, 3)),
    "hashes": lambda rng, n: rng.hashes(5, (n, 3)),
    "uniforms": lambda rng, n: rng.uniforms((n, 3)),
    "normals": lambda rng, n: rng.normals((n, 3)),
    "categories": lambda rng, n: rng.categories(np.array([0.2, 0.5, 0.3]), n),
}


@pytest.mark.parametrize("name", DRAWS)
@given(small=st.integers(0, 50), more=st.integers(0, 50), seed=st.integers(0, 2**128 - 1))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_a_larger_draw_starts_with_the_smaller_one(name, small, more, seed):
    draw = DRAWS[name]
    np.testing.assert_array_equal(draw(Stream(seed), small + more)[:small], draw(Stream(seed), small))


def test_fewer_bits_are_the_low_bits_of_more():
    np.testing.assert_array_equal(Stream(1).hashes(9, (50,)) & 7, Stream(1).hashes(3, (50,)))
    assert not Stream(1).hashes(0, (50,)).any()


@pytest.mark.parametrize("draw", ["signs", "quarter_turns"])
def test_signs_are_independent_up_to_four_at_a_time(draw):
    # 40,000 seeds of 8 columns: the mean of every product of up to 4 signs (for complex ones with any conjugates) is 0.
    count = 40_000
    values = getattr(Stream(7, draw), draw)((count, 8))
    signs = values if draw == "signs" else 1j ** values.astype(float)
    combinations = [c for size in range(1, 5) for c in itertools.combinations(range(8), size)]
    limit = stats.norm.isf(FALSE_ALARM / len(combinations) / 4) / np.sqrt(count)
    for columns in combinations:
        for conjugated in range(1 if draw == "signs" else 2):
            product = np.prod(signs[:, columns], axis=1)
            if conjugated:
                product = np.conj(signs[:, columns[0]]) * np.prod(signs[:, columns[1:]], axis=1)
            assert abs(product.real.mean()) < limit
            assert abs(product.imag.mean()) < limit if draw != "signs" else True


def test_complex_signs_have_no_second_moment():
    turns = Stream(3).quarter_turns((40_000,))
    assert np.bincount(turns).size == 4
    assert stats.chisquare(np.bincount(turns)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("count", [1, 2, 3, 10, 1000])
def test_buckets_are_uniform_and_pairwise_independent(count):
    draws = Stream(5).buckets(count, (100_000, 2))
    assert draws.min() >= 0
    assert draws.max() < count
    if count > 1:
        assert stats.chisquare(np.bincount(draws.ravel(), minlength=count)).pvalue > FALSE_ALARM
    if count <= 10 and count > 1:
        table = np.bincount(draws[:, 0] * count + draws[:, 1], minlength=count**2)
        assert stats.chisquare(table).pvalue > FALSE_ALARM


def test_uniforms_and_normals_follow_their_laws():
    uniforms, normals = Stream(9).uniforms((50_000,)), Stream(9).normals((50_000,))
    assert uniforms.min() > 0
    assert uniforms.max() < 1
    assert stats.kstest(uniforms, "uniform").pvalue > FALSE_ALARM
    assert stats.kstest(normals, "norm").pvalue > FALSE_ALARM


def test_permutations_are_uniform():
    counts = {}
    for seed in range(6_000):
        order = tuple(Stream(seed, "order").permutation(3).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert stats.chisquare(list(counts.values())).pvalue > FALSE_ALARM


def test_categories_follow_their_law_and_never_leave_it():
    law = np.array([0.0, 0.25, 0.0, 0.75, 0.0])
    counts = np.bincount(Stream(2).categories(law, 40_000), minlength=5)
    assert counts[[0, 2, 4]].sum() == 0
    assert stats.chisquare(counts[[1, 3]], 40_000 * law[[1, 3]]).pvalue > FALSE_ALARM
