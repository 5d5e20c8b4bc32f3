"""The example of the README runs, and says what is true."""

import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    exec(compile(example, str(README), "exec"), {})
    deviation, derivative = capsys.readouterr().out.splitlines()
    # 50,000 levels in 40 bins, at N = 100: sampling error and the O(1/n) edge correction.
    assert float(deviation.split(":")[1]) < 0.03
    computed, expected = map(float, re.findall(r"= (\d+\.\d)", derivative))
    assert abs(computed - expected) <= 0.1 + 1e-4 * expected


def test_the_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        if not target.startswith("http"):
            assert (README.parent / target).exists(), target
