"""Wrong arguments of functions of several levels are refused by name; `test_doors.py` tests complex arguments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax import laws

CASES = [
    *((fn, (1.0, 3), "`beta` must be 0, 1, 2 or 4, got 3") for fn in (laws.number_variance, laws.rigidity)),
    (laws.pair_correlation, (1.0, 3), "`beta` must be 0, 1, 2 or 4, got 3"),
    (laws.form_factor, (1.0, 3), "`beta` must be 0, 1, 2 or 4, got 3"),
    *(
        (fn, arguments, message)
        for fn in (laws.circular_form_factor, laws.circular_number_variance, laws.circular_rigidity)
        for arguments, message in (
            ((1.0, 5, 3), "`beta` must be 0, 1, 2 or 4, got 3"),
            ((1.0, 0, 2), "`n` must be an integer of at least 1, got 0"),
        )
    ),
    (laws.circular_power_spectrum, (1, 1, 2), "`n` must be an integer of at least 2"),
    (laws.circular_power_spectrum, (1, 4, 3), "`beta` must be 0, 1, 2 or 4"),
    (laws.crossover_form_factor, (1.0, -0.1), "`coupling` must be finite and not negative"),
    (laws.crossover_number_variance, (1.0, -0.1), "`coupling` must be finite and not negative"),
    (laws.bulk_gap_probabilities, (1.0, 3, 2), "`beta` must be 1, 2 or 4, got 3"),
    (laws.soft_edge_gap_probabilities, (1.0, 2, -1), "`max_count` must be an integer of at least 0, got -1"),
    (laws.soft_edge_gap_probabilities, (1.0, 4, 1, "dyson"), "`convention` must be one of"),
    (laws.hard_edge_gap_probabilities, (1.0, 0.0, 4, 1), r"`alpha` must lie in \[0.1, 50\] for beta=4, got 0.0"),
    (laws.hermite_gap_probabilities, (3, (1.0, 0.0), 1, 1), r"`interval` must be a pair of ascending .* \(1.0, 0.0\)"),
    (laws.hermite_gap_probabilities, (0, (0.0, 1.0), 1, 1), "`n` must be an integer of at least 1, got 0"),
    (laws.hermite_gap_probabilities, (2, (0.0, 1.0), 3, 1), "`beta` must be 1, 2 or 4, got 3"),
    *(
        (fn, (*arguments, *others), message)
        for fn, arguments in ((laws.gaussian_form_factor, (1.0,)), (laws.gaussian_number_variance, (0.0, 1.0)))
        for others, message in (
            ((5, 3), "`beta` must be 1, 2 or 4, got 3"),
            ((0,), "`n` must be an integer of at least 1, got 0"),
            ((3, 2, -1.0), "`scale` must be positive and finite"),
        )
    ),
    (laws.linear_statistic_variance, (jnp.exp, 0.0), "`beta` must be positive"),
    (laws.linear_statistic_variance, (jnp.exp, 1.0, (0.0, np.inf)), "`support` must be finite"),
    (laws.linear_statistic_variance, (jnp.exp, 1.0, (1.0, 0.0)), "`support` must be a pair of ascending"),
    (laws.linear_statistic_variance, (lambda x: x[:2], 1.0), r"`f` must return an array of the shape \(128,"),
    (laws.linear_statistic_mean, (jnp.exp, 0, 1.0), "`n` must be an integer of at least 1"),
    (laws.circular_linear_statistic_variance, (jnp.exp, 3, 5), "`beta` must be 0, 1, 2 or 4"),
    (laws.circular_linear_statistic_variance, (jnp.exp, 0), "`beta` must be positive"),
]


@pytest.mark.parametrize(("fn", "arguments", "message"), CASES)
def test_bad_input(fn, arguments, message):
    with pytest.raises(ValueError, match=message):
        fn(*arguments)


def test_a_traced_value_out_of_range_gives_nan():
    assert np.isnan(jax.jit(lambda beta: laws.linear_statistic_variance(jnp.exp, beta))(-1.0))
