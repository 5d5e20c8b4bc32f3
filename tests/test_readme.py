"""The links of the README, and its example under JAX's settings; `test_cache.py` runs it with a cache."""

import re

import pytest

from tests.cases import further
from tests.processes import ROOT, printed

README = ROOT / "README.md"

# Settings before the example, which runs in a separate process.
MODES = {
    "explicit mesh": "jax.set_mesh(jax.make_mesh((4,), ('d',), (jax.sharding.AxisType.Explicit,)))",
    "strict promotion": "jax.config.update('jax_numpy_dtype_promotion', 'strict')\n"
    "jax.config.update('jax_numpy_rank_promotion', 'raise')",
    "NaN as an error": "jax.config.update('jax_debug_nans', True)",
    "keys used twice": "jax.config.update('jax_debug_key_reuse', True)",
    "another generator": "jax.config.update('jax_default_prng_impl', 'rbg')",
}


def test_the_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


@pytest.mark.parametrize("mode", ["explicit mesh", *further(*(mode for mode in MODES if mode != "explicit mesh"))])
def test_the_example_runs_under_a_setting(mode):
    example = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL).group(1)
    output = printed("-W", "error", "-c", f"import jax\n{MODES[mode]}\n{example}", JAX_NUM_CPU_DEVICES="4")
    deviation, slope, energy = map(float, re.findall(r"(\d+\.\d+)", output))
    assert deviation < 0.05
    assert slope == energy
