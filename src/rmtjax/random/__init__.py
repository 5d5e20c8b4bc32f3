"""Random variates that `jax.random` lacks or draws slowly."""

from rmtjax.random._gamma import chi as chi
from rmtjax.random._gamma import gamma as gamma
