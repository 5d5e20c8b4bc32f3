"""Ensembles and laws with planted errors."""

import equinox as eqx
import jax

from rmtjax._module import AbstractModule


class Faulty(AbstractModule):
    """An ensemble or law with one public method replaced by a function of the right one."""

    base: AbstractModule
    method: str = eqx.field(static=True)
    replacement: object = eqx.field(static=True)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.replacement(self.base) if name == self.method else getattr(self.base, name)


class Fresh:
    """An ensemble whose pytree structure is different each time, so that no compiled function fits it twice."""

    def __init__(self, base):
        self.base = base

    def __getattr__(self, name):
        if name.startswith("__") or name == "base":
            raise AttributeError(name)
        return getattr(self.base, name)


jax.tree_util.register_pytree_node(Fresh, lambda e: ((e.base,), object()), lambda _, children: Fresh(*children))
