"""The environment of the suite, which JAX reads when it is first imported."""

import os
from importlib.metadata import version
from pathlib import Path

# Most of a cold run is compilation; a warm cache makes it several times shorter. The folder is set in the environment,
# not in `jax.config`, so that processes started by tests share it, as the workers of pytest-xdist do. JAX writes
# entries in place, so one process may read what another has half written: JAX then warns, which `pyproject.toml`
# allows, and compiles.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).resolve().parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ.setdefault("MPLBACKEND", "Agg")
# Each process of the suite has one core; LAPACK's threads would spin on its small systems and hold up the others.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Compiling without the expensive passes halves the rest of a cold run. `make test-slow` keeps them, as users do.
FULL = os.environ.get("RMTJAX_FULL_COMPILATION", "0") != "0"
if not FULL:
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    # A flag that XLA does not know ends the process; the versions that this one was tried with know it.
    if version("jaxlib").startswith(("0.8.", "0.9.", "0.10.")):
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"--xla_cpu_use_fusion_emitters=false {flags}".strip()
