"""Zipf's law of words: how often each word of a text occurs, and whether the counts follow a power law.

Counts are whole numbers with many ties, so `fit_tail` takes the law k^-α/ζ(α, k_min) of whole numbers. A law of real
numbers says something else about the same counts. The text is the licence of this package, or any file. The run takes
some 10 s on two cores.
"""

import argparse
import re
from collections import Counter
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

from rmtjax.inference import TailFit, fit_tail

LICENCE = Path(__file__).resolve().parents[1] / "LICENSE"


def counts_of_words(text: str) -> np.ndarray:
    """How often each different word occurs, in descending order."""
    words = Counter(re.findall(r"[a-z]+", text.lower()))
    return np.array(sorted(words.values(), reverse=True))


def from_here_on(fit: TailFit, k: np.ndarray, last: int = 10**6) -> np.ndarray:
    """The share of counts of at least k by the fitted law, by its sum up to a large number."""
    numbers = np.arange(int(fit.minimum), last)
    sums = np.cumsum(numbers[::-1] ** -float(fit.exponent.value))[::-1]
    return sums[k - numbers[0]] / sums[0]


def main(argv: list[str] | None = None) -> None:
    """Fit the counts as whole and as real numbers, print the verdicts and draw the distribution function."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, default=LICENCE, help="a text file (default: the licence)")
    parser.add_argument("--output", type=Path, default=Path("zipf_words.png"), help="the picture")
    args = parser.parse_args(argv)
    counts = counts_of_words(args.text.read_text(encoding="utf-8"))
    print(f"{counts.sum()} words, {counts.size} different; the most frequent occurs {counts[0]} times")
    whole = fit_tail(counts, key=jax.random.key(0), resamples=200, cut_off=True)
    print(
        f"whole numbers: {whole.verdict}; exponent {whole.exponent:.2f}, {whole.tail_size} words, p {whole.p_value:.2f}"
    )
    print(f"  against a log-normal law {whole.log_normal.p_value:.2g}, against a cut-off {whole.cut_off.p_value:.2g}")
    real = fit_tail(counts, minimum=whole.minimum, discrete=False, key=jax.random.key(0), resamples=200)
    print(f"real numbers: {real.verdict}; exponent {real.exponent:.2f}, p-value of the distance {real.p_value:.2f}")
    k = np.unique(counts)
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    ax.loglog(k, [np.mean(counts >= each) for each in k], "o", markersize=4, label="words")
    tail = k[k >= float(whole.minimum)]
    law = int(whole.tail_size) / counts.size * from_here_on(whole, tail)
    ax.loglog(tail, law, color="black", label=f"$\\propto k^{{-{whole.exponent.value:.2f}}}$")
    ax.set(
        title=f"Words of {args.text.name}: {whole.verdict}", xlabel="occurrences k", ylabel="share of words, k or more"
    )
    ax.legend(frameon=False)
    figure.savefig(args.output, dpi=200)


if __name__ == "__main__":
    main()
