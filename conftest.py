"""The suite: its environment comes first, as JAX reads it when it is imported."""

import tests.environment  # noqa: F401

pytest_plugins = ["tests.session"]
