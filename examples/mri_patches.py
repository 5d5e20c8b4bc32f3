"""A series of magnetic-resonance images without its noise: the difference must look like pure noise.

A phantom of two tissues and water is measured at 24 echo times in noise. The signals decay at rates that change slowly
over space, so each patch of 5 × 5 × 5 voxels holds only a few different decays. The levels of its noise follow the law
of Marčenko and Pastur, and levels beyond it are signal: Veraart et al. (2016), NeuroImage 142, 394.
"""

import argparse

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt


def phantom(size: int, echoes: int) -> jax.Array:
    """Voxels × echo times: shares of three pools inside a head, two of them with rates that vary by a third."""
    x, y, z = jnp.meshgrid(*(jnp.linspace(-1, 1, n) for n in (size, size, 9)), indexing="ij")
    smooth = lambda distance: jax.nn.sigmoid(25 * distance)
    head, core = smooth(0.85 - jnp.hypot(x, 1.1 * y)), smooth(0.45 - jnp.hypot(x - 0.1 * z, y))
    water = smooth(0.15 - jnp.hypot(jnp.abs(x) - 0.3, y + 0.1 * z))
    rates = jnp.stack([1 + 0.3 * jnp.sin(2 * x + y), 3 + jnp.cos(2 * y - z), jnp.full_like(x, 0.2)])
    shares = head * jnp.stack([core * (1 - water), (1 - core) * (1 - water), 1.5 * water])
    times = jnp.linspace(0.05, 2, echoes)
    return jnp.sum(shares[..., None] * jnp.exp(-rates[..., None] * jnp.expand_dims(times, range(rates.ndim))), axis=0)


def main(argv: list[str] | None = None) -> None:
    """Denoise, compare the residual with noise, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=48, help="of a slice (default %(default)s)")
    parser.add_argument("--noise", type=float, default=0.05, help="its level; the signal is 1 (default %(default)s)")
    parser.add_argument("--output", default="mri_patches.png", help="the picture (default %(default)s)")
    args = parser.parse_args(argv)
    signal = phantom(args.size, 24)
    noisy = signal + args.noise * jax.random.normal(jax.random.key(0), signal.shape)
    found = rmt.inference.denoise_image(noisy)
    residual, error = noisy - found.image, found.image - signal
    overlap = jnp.sum((signal - signal.mean()) * residual) / jnp.linalg.norm(signal - signal.mean()) / args.noise
    print(f"noise level: {jnp.mean(found.noise):.4f} estimated, {args.noise} true")
    print(f"error: {jnp.std(error):.4f}, {jnp.std(error) / args.noise:.0%} of the noise that was there")
    print(f"residual: {jnp.std(residual):.4f}, its overlap with the signal is {overlap:.1f} standard errors")
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
    wide, narrow = (0, 1.2), (-3 * args.noise, 3 * args.noise)
    named = {
        "measured": (noisy, wide),
        "denoised": (found.image, wide),
        "measured - denoised": (residual, narrow),
        "denoised - true": (error, narrow),
    }
    for ax, (name, (image, limits)) in zip(axes, named.items(), strict=True):
        shown = ax.imshow(image[:, :, 4, 6], vmin=limits[0], vmax=limits[1], cmap="gray")
        ax.set(title=name, xticks=[], yticks=[])
        figure.colorbar(shown, ax=ax, shrink=0.8)
    figure.savefig(args.output, dpi=160)


if __name__ == "__main__":
    main()
