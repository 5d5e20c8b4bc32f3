"""Functions of `rmtjax.inference` for data frames: labels go in, labels come out.

Rows are observations and columns are variables, numeric. Missing values, NaN or NA, are refused unless the function has
an option `missing` that says what to do with them. Each function takes the options of
the function of the same name in `rmtjax.inference`, raises the same errors, and computes in double precision.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from rmtjax import _checks, inference


def shrink_covariance(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """An estimate of the covariance matrix of the columns, by `rmtjax.inference.shrink_covariance`.

    Args:
        frame: observations × variables.
        options: options of that function; `standardize=True` shrinks correlations and keeps `frame.var()`, also with
            `missing="pairwise"`.

    Returns:
        A frame with the columns of `frame` as its index and its columns.

    Example:
        >>> import numpy as np, pandas as pd
        >>> frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
        >>> print(f"{shrink_covariance(frame, method='oas').loc['a', 'a']:.1f}")
        0.9
    """
    (array,) = _arrays(frame)
    return pd.DataFrame(_wide(inference.shrink_covariance, array, **options), frame.columns, frame.columns)


def clean_cross_covariance(x: pd.DataFrame, y: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """The covariances of the columns of two frames, by `rmtjax.inference.clean_cross_covariance`.

    Args:
        x: observations × variables.
        y: observations × variables, with the index of `x`.
        options: options of that function.

    Returns:
        A frame with the columns of `x` as its index and the columns of `y` as its columns.

    Raises:
        ValueError: `x` and `y` have different indices.

    Example:
        >>> import numpy as np, pandas as pd
        >>> frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
        >>> print(clean_cross_covariance(frame[["a", "b"]], frame[["c"]]).shape)
        (2, 1)
    """
    left, right = _arrays(x, y)
    if not x.index.equals(y.index):
        raise _checks.refusal("y", "have the index of `x`", _checks.Words("another index"))
    return pd.DataFrame(_wide(inference.clean_cross_covariance, left, right, **options), x.columns, y.columns)


def denoise(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """The frame without its noise, by `rmtjax.inference.denoise`.

    Args:
        frame: observations × variables.
        options: options of that function.

    Returns:
        A frame with the index and the columns of `frame`.

    Example:
        >>> import numpy as np, pandas as pd
        >>> frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
        >>> print(denoise(frame + 5, noise=1.0).shape)
        (30, 3)
    """
    (array,) = _arrays(frame)
    return pd.DataFrame(_wide(inference.denoise, array, **options).matrix, frame.index, frame.columns)


def rolling_covariance(frame: pd.DataFrame, window: int, *, step: int = 1, **options: Any) -> pd.DataFrame:
    """Estimates of the covariance matrix in windows of consecutive rows, in one call for all windows.

    Args:
        frame: observations × variables.
        window: number of rows of a window, at least 2.
        step: number of rows from the end of one window to the end of the next.
        options: options of `rmtjax.inference.shrink_covariance`.

    Returns:
        A frame like `frame.rolling(window).cov()`: its index holds the label of the last row of each window and the
        columns of `frame`, and its columns are the columns of `frame`.

    Raises:
        ValueError: `frame` has fewer rows than `window`.

    Example:
        >>> import numpy as np, pandas as pd
        >>> frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
        >>> print(rolling_covariance(frame, 20, step=5).loc[24].shape)
        (3, 3)
    """
    (array,) = _arrays(frame)
    window, step = _checks.integer("window", window, at_least=2), _checks.integer("step", step, at_least=1)
    if len(frame) < window:
        raise _checks.refusal("frame", f"have at least window = {window} rows", array.shape)
    ends = np.arange(window, len(frame) + 1, step)
    windows = np.stack([array[end - window : end] for end in ends])
    found = _wide(inference.shrink_covariance, windows, **options)
    # Both the index and the columns may have several levels.
    parts = frame.index[ends - 1].repeat(frame.shape[1]), frame.columns[np.tile(np.arange(frame.shape[1]), len(ends))]
    index = pd.MultiIndex.from_arrays(
        [part.get_level_values(level) for part in parts for level in range(part.nlevels)],
        names=[*frame.index.names, *frame.columns.names],
    )
    return pd.DataFrame(found.reshape(-1, frame.shape[1]), index, frame.columns)


def _arrays(*frames: Any) -> list[np.ndarray]:
    """The numbers of frames in double precision."""
    for frame in frames:
        if not isinstance(frame, pd.DataFrame):
            raise _checks.refusal("frame", "be a `pandas.DataFrame`", type(frame).__name__)
        text = [name for name, kind in frame.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
        if text:
            raise _checks.refusal("frame", "have numeric columns only", text)
    return [
        frame.to_numpy(np.complex128 if any(kind.kind == "c" for kind in frame.dtypes) else np.float64, na_value=np.nan)
        for frame in frames
    ]


def _wide(function: Any, *arrays: np.ndarray, **options: Any) -> Any:
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, partial(function, **options)(*map(jnp.asarray, arrays)))
