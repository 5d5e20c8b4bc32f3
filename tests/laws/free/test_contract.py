"""Laws of this room keep their contract."""

from tests.laws.contract import contract_of

test_the_contract_of_laws = contract_of("free")
