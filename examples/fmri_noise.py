"""A series of brain images whose noise is correlated over time: the noise covariance must be said.

Four regions of a phantom follow slow courses in 40 volumes, and each volume keeps part of the noise of the one before.
Slow noise then looks like signal. Scans without a signal give the covariance between volumes and a map of the noise.
"""

import argparse

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

from rmtjax.inference import denoise_image, shrink_covariance


def phantom(size: int, volumes: int) -> jax.Array:
    """Voxels × volumes: four regions of a slice with courses in time, beside a constant."""
    x, y = jnp.meshgrid(jnp.linspace(-1, 1, size), jnp.linspace(-1, 1, size), indexing="ij")
    inside = lambda a, b, radius: jax.nn.sigmoid(25 * (radius - jnp.hypot(x - a, y - b)))
    regions = jnp.stack([inside(a, b, 0.3) for a in (-0.4, 0.4) for b in (-0.4, 0.4)], axis=-1)
    time = jnp.linspace(0, 1, volumes)
    courses = jnp.stack([jnp.sin(2 * jnp.pi * (k + 1) * time + k) for k in range(4)])
    return 3 * inside(0, 0, 0.9)[..., None] + regions @ courses


def correlated(key: jax.Array, shape: tuple[int, ...], memory: float, level: jax.Array) -> jax.Array:
    """Noise of a level over space, of which each volume keeps a part."""
    lag = jnp.abs(jnp.arange(shape[-1])[:, None] - jnp.arange(shape[-1]))
    return level[..., None] * jax.random.normal(key, shape) @ jnp.linalg.cholesky(memory**lag).T


def main(argv: list[str] | None = None) -> None:
    """Denoise with and without the covariance, and draw a course and the errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=40, help="of the slice (default %(default)s)")
    parser.add_argument("--memory", type=float, default=0.6, help="kept from volume to volume (default %(default)s)")
    parser.add_argument("--output", default="fmri_noise.png", help="the picture (default %(default)s)")
    args = parser.parse_args(argv)
    signal, (key, other) = phantom(args.size, 40), jax.random.split(jax.random.key(0))
    level = jnp.broadcast_to(jnp.linspace(0.5, 1.0, args.size), signal.shape[:2])
    noisy, scans = (mean + correlated(k, signal.shape, args.memory, level) for mean, k in ((signal, key), (0, other)))
    noise = jnp.std(scans, axis=-1)  # a map of the level, from scans of noise alone
    covariance = shrink_covariance((scans / noise[..., None]).reshape(-1, 40))
    found = denoise_image(noisy, patch=(7, 7), noise_covariance=covariance)
    white, place = denoise_image(noisy, patch=(7, 7)), (args.size * 3 // 10, args.size * 3 // 10)
    images = {"measured": noisy, "noise taken as white": white.image, "with its covariance": found.image}
    figure, axes = plt.subplots(1, 4, figsize=(14, 3.4), layout="constrained")
    for ax, (name, image) in zip(axes, images.items(), strict=False):
        print(f"{name}: error {jnp.std(image - signal):.3f}")
        ax.imshow((image - signal)[..., 20], vmin=-2, vmax=2, cmap="gray")
        axes[3].plot(image[place], label=name)
        ax.set(title=f"{name}, minus the signal", xticks=[], yticks=[])
    print(f"level of the noise: {jnp.mean(found.noise):.3f} estimated, {jnp.mean(level):.3f} true")
    axes[3].plot(signal[place], "k", label="signal")
    axes[3].legend(frameon=False, fontsize="small")
    figure.savefig(args.output, dpi=160)


if __name__ == "__main__":
    main()
