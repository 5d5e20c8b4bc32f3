"""A simulation has the same results on 1, 2, 3 and 8 devices, also for sample counts that do not divide evenly."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cases import further
from tests.processes import printed

SCRIPT = Path(__file__).with_name("_device_run.py")


def run(devices: int) -> dict:
    output = json.loads(printed(SCRIPT, devices))
    assert output["devices"] == devices
    return output["results"]


@pytest.fixture(scope="module")
def one_device() -> dict:
    return run(1)


@pytest.mark.parametrize("devices", [2, *further(3, 4, 8)])
def test_results_do_not_depend_on_the_number_of_devices(one_device, devices):
    several = run(devices)
    assert several.keys() == one_device.keys()
    zero, one = np.asarray(several.pop("arguments"))
    np.testing.assert_allclose(zero, one_device["arguments"][0], rtol=1e-6)
    np.testing.assert_allclose(one, zero + 2, rtol=1e-6)
    np.testing.assert_allclose(several.pop("loop"), one_device["loop"], rtol=1e-5)
    assert several.pop("ensemble") == one_device["ensemble"]
    for case in several:
        expected = one_device[case]
        # Integer results agree bit for bit, floating-point ones to the rounding of float32, the dtype of the draws.
        assert several[case]["counts"] == expected["counts"], case
        assert several[case]["count"] == expected["count"], case
        assert several[case]["above"] == expected["above"], case
        for name in ("mean", "variance", "stacked"):
            np.testing.assert_allclose(several[case][name], expected[name], rtol=1e-5, atol=1e-6, err_msg=case)


def test_results_do_not_depend_on_the_batch_size(one_device):
    assert one_device["101 in batches of None"]["counts"] == one_device["101 in batches of 4"]["counts"]
    # The first draws of a longer run are the draws of a shorter one.
    longer, shorter = one_device["101 in batches of 4"], one_device["64 in batches of 64"]
    np.testing.assert_allclose(longer["stacked"][:64], shorter["stacked"], rtol=1e-5, atol=1e-6)
