"""Reducers give the same on several devices as on one."""

import pytest

from tests.processes import printed


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_devices():
    assert printed("-m", "tests.simulation.reducers._device_run").split() == ["3"]
