"""Interfaces to other packages, one module for each, imported on first use: `rmt.adapters.scipy_stats`."""

from typing import TYPE_CHECKING

from rmtjax import _lazy

if TYPE_CHECKING:
    from rmtjax.adapters import numpyro as numpyro
    from rmtjax.adapters import pandas as pandas
    from rmtjax.adapters import scikit_learn as scikit_learn
    from rmtjax.adapters import scipy_stats as scipy_stats
else:
    __getattr__, __dir__ = _lazy.on_first_use(
        globals(),
        {
            "numpyro": _lazy.Extra("numpyro", "numpyro"),
            "pandas": _lazy.Extra("pandas", "pandas"),
            "scikit_learn": _lazy.Extra("scikit-learn", "sklearn"),
            "scipy_stats": None,
        },
    )
