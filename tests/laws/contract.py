"""The contract of laws, made from the table for each room."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.testing import check_law
from tests.instances import LAWS, Contract, made


def contract_of(room: str) -> Callable:
    """A test that holds the instances of the laws in a room of the package to `check_law`."""
    mine = [law for name, law in LAWS.items() if getattr(rmt.laws, name).__module__.split(".")[2] == f"_{room}"]

    @pytest.mark.parametrize(("contract", "reverse_mode"), [case for law in mine for case in _cases(law.contract)])
    def test_the_contract_of_laws(contract: Contract, reverse_mode: bool) -> None:
        single = jnp.zeros(0).dtype == np.float32
        check_law(made(contract.of), rtol=contract.rtol_single if single else contract.rtol, reverse_mode=reverse_mode)

    return test_the_contract_of_laws


def _cases(contracts: tuple[Contract, ...]) -> list:
    """Forward mode alone is the shorter part of a check; with reverse mode as well it is whole."""
    cases = []
    for contract in contracts:
        single = [pytest.mark.float32(further=True)] if contract.rtol_single else []
        slow = [*single, pytest.mark.slow]
        whole = pytest.param(contract, True, marks=single if contract.daily == "whole" else slow, id=f"{contract.of}")
        cases.append(whole)
        if contract.daily == "forward":
            cases.append(pytest.param(contract, False, marks=single, id=f"{contract.of}, forward"))
    return cases
