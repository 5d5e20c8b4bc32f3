"""The devices that a simulation runs on."""

import jax
import numpy as np
from jax.sharding import Mesh

from rmtjax import _checks

AXIS = "draws"


def resolve_mesh(mesh: Mesh | None) -> Mesh:
    """The mesh given, or one of all local devices along the axis "draws"."""
    if mesh is None:
        return Mesh(np.asarray(jax.local_devices()), (AXIS,))
    if AXIS not in mesh.axis_names:
        raise _checks.refusal("mesh", f"have an axis named {AXIS!r}", mesh.axis_names)
    # `jax.make_mesh` makes explicit axes from jax 0.9 on and automatic ones before; `simulate` needs automatic ones.
    return Mesh(mesh.devices, mesh.axis_names)
