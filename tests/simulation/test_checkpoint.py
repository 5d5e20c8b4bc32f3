"""Checkpoints: which are resumed, which are refused, and what happens if the disk fails."""

import contextlib
import errno
import hashlib
import json
import math
import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.simulation._checkpoint import Damaged, Foreign, Saved, Store, packed, unpacked
from rmtjax.simulation._saver import Interval
from tests.simulation.reducers.draws import Counted

KEY = jax.random.key(5)
HISTOGRAM = rmt.Histogram(np.linspace(0.0, 1.0, 9))


def uniform(key, scale=1.0):
    return scale * jax.random.uniform(key, (3,))


def run(path, num_samples=500, fn=uniform, key=KEY, reduce=HISTOGRAM, **options):
    return rmt.simulate(fn, key, num_samples, reduce=reduce, checkpoint=path, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run"


@contextlib.contextmanager
def handled_by(handler, number=signal.SIGTERM):
    usual = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, usual)


@pytest.fixture(autouse=True)
def _ctrl_c():
    """Python's own handler, also if the suite was started in the background, with Ctrl-C ignored."""
    with handled_by(signal.default_int_handler, signal.SIGINT):
        yield


def draws(path):
    return unpacked(path.read_bytes()).draws


@pytest.mark.float32
@pytest.mark.parametrize("batch_size", [1, 64, None])
def test_a_longer_run_goes_on_where_the_shorter_one_ended(path, batch_size):
    reduce = {"counts": HISTOGRAM, "moments": rmt.Moments()}
    run(path, 201, reduce=reduce, every=50)
    assert draws(path) == 201
    assert draws(path.with_name("run.previous")) == 200
    longer = run(path, 501, reduce=reduce, batch_size=batch_size)
    undisturbed = rmt.simulate(uniform, KEY, 501, reduce=reduce)
    np.testing.assert_array_equal(longer["counts"].counts, undisturbed["counts"].counts)
    assert longer["counts"].total == 1503
    assert longer["moments"].count == 501
    np.testing.assert_allclose(longer["moments"].mean, undisturbed["moments"].mean, rtol=1e-5)
    np.testing.assert_allclose(longer["moments"].variance, undisturbed["moments"].variance, rtol=1e-5)


def test_a_finished_run_draws_nothing(path):
    drawn = []
    fn = lambda key: drawn.append(key) or uniform(key)
    first = run(path, fn=fn)
    content, traces = path.read_bytes(), len(drawn)
    again = run(path, fn=fn)
    np.testing.assert_array_equal(again.counts, first.counts)
    assert path.read_bytes() == content
    # The facts of the simulation are traced once more, but nothing is drawn.
    assert len(drawn) <= traces + 1


def test_every_dtype_comes_back():
    leaves = [np.arange(3, dtype=ml_dtypes.bfloat16), np.array(1 + 2j), np.array(True), np.zeros((2, 0), np.int8)]
    saved = unpacked(packed(Saved(7, 64, {"a": "b"}, leaves)))
    assert (saved.draws, saved.batch, saved.facts) == (7, 64, {"a": "b"})
    for one, other in zip(leaves, saved.leaves, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)


OTHERS = {
    "key": ({"key": jax.random.key(6)}, r"`key` \(threefry2x32 \[0, 5\] there, threefry2x32 \[0, 6\] here\)"),
    "fn": ({"fn": lambda key: uniform(key) ** 2}, "the operations of `fn`"),
    "constant": ({"fn": lambda key: uniform(key) + jnp.asarray([1.0, 2.0, 3.0])}, "the operations of `fn`"),
    "args": ({"args": (2.0,)}, r"`args\[0\]` \(float.*\[\] 1.0 there, float.*\[\] 2.0 here\)"),
    "output": ({"fn": lambda key: uniform(key)[:2]}, r"the output of `fn` \(float.*\[3\] there, float.*\[2\] here\)"),
    "edges": ({"reduce": rmt.Histogram(np.linspace(0, 2, 9))}, r"`reduce.edges`"),
    "reducer": ({"reduce": rmt.Moments()}, "the states of `reduce`"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_checkpoint_of_another_simulation_is_refused(path, other):
    options, difference = OTHERS[other]
    arguments = {"args": (1.0,)} if other == "args" else {}
    run(path, **arguments)
    content = path.read_bytes()
    with pytest.raises(ValueError, match=f"`checkpoint` must be of this simulation, .*run, which .* in {difference}"):
        run(path, 600, **(arguments | options))
    assert path.read_bytes() == content


def test_constants_of_a_function_belong_to_it(path):
    shifted = lambda shift: lambda key: uniform(key) + np.full(3, shift)
    run(path, fn=shifted(1.0))
    run(path, 600, fn=shifted(1.0))
    with pytest.raises(ValueError, match="the operations of `fn`"):
        run(path, 700, fn=shifted(2.0))


def test_mistakes_show_early_and_spoil_no_checkpoint(path):
    drawn = []
    count = lambda key: jax.debug.callback(lambda: drawn.append(1)) or jnp.ones(())
    with pytest.raises(AttributeError, match="men"):
        run(path, 10_000, fn=count, reduce=rmt.simulation.Jackknife(lambda m: m.men, rmt.Moments()), batch_size=1)
    assert len(drawn) < 10_000
    # Draw 250 is NaN: the state of 200 draws is the last one with a result.
    late = lambda key, bad: jnp.where((jax.random.key_data(key) == bad).all(), jnp.nan, 0.5)
    bad = jax.random.key_data(jax.random.fold_in(KEY, 250))
    with pytest.raises(ValueError, match="`fn` must return no NaN, got 1 of 300 values"):
        run(path, 10_000, fn=late, args=(bad,), every=100)
    assert draws(path) == 200


def test_another_version_is_refused(path, monkeypatch):
    run(path)
    monkeypatch.setattr("rmtjax.simulation._fingerprint.__version__", "99.0")
    with pytest.raises(ValueError, match=r"the version of rmtjax \(.* there, 99.0 here\)"):
        run(path, 600)


def corrupted(content: bytes, random: random.Random) -> bytes:
    place = random.randrange(len(content))
    kind = random.choice(["flip", "flip", "cut", "grow", "zero", "swap"])
    if kind == "cut":
        return content[:place]
    if kind == "grow":
        return content[:place] + random.randbytes(1) + content[place:]
    if kind == "zero":
        return content[:place] + bytes(len(content) - place) + b"\0"
    if kind == "swap":
        return content[place:] + b"\n" + content[:place]
    return content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]


def test_no_corrupted_file_is_accepted(path):
    run(path, 300, every=100)
    path.with_name("run.previous").unlink()
    content, moments = path.read_bytes(), random.Random(0)
    for _ in range(500):
        damaged = corrupted(content, moments)
        assert damaged != content
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"run cannot be used: it.*Nothing was overwritten"):
            Store(path).load()
        assert path.read_bytes() == damaged
    path.write_bytes(content)
    assert Store(path).load().draws == 300


def test_without_the_file_a_run_begins_anew(path):
    run(path, 300, every=100)
    assert path.with_name("run.previous").exists()
    path.unlink()
    assert run(path, 150).total == 450
    assert draws(path) == 150


def test_a_file_that_is_removed_while_the_run_goes_on(path):
    assert run(path, reduce=Vanishing(lambda: path.unlink()), every=100) == 500
    assert draws(path) == 500


def test_the_file_never_vanishes(path, monkeypatch):
    """A process is killed at each renaming; the next run always goes on from what is left."""
    run(path, 300, every=100)
    for number in range(2):
        calls = []

        def killed(source, target, calls=calls, number=number, replace=os.replace):
            calls.append(target)
            if len(calls) > number:
                raise KeyboardInterrupt
            replace(source, target)

        with monkeypatch.context() as patched:
            patched.setattr("rmtjax.simulation._checkpoint.os.replace", killed)
            with pytest.raises(KeyboardInterrupt):
                run(path, 400)
        assert len(calls) == number + 1
        assert draws(path) == 300
    assert run(path, 400).total == 1200


def test_what_a_function_finds_in_its_surroundings(path):
    """The file holds the operations that made the draws, not operations of an earlier or a later time."""
    surroundings = {"shift": 0.0}
    fn = lambda key: uniform(key) / 4 + surroundings["shift"]
    rmt.simulate(fn, KEY, 100, reduce=HISTOGRAM)
    surroundings["shift"] = 0.5
    result = run(path, 100, fn=fn)
    assert result.counts[:4].sum() == 0
    assert result.counts[4:].sum() == 300
    surroundings["shift"] = 0.25
    with pytest.raises(ValueError, match="the operations of `fn`"):
        run(path, 200, fn=fn)


class Chosen(Counted):
    """A reducer whose static field acts on the host alone."""

    how: str = eqx.field(static=True)

    def merge(self, left, right):
        return left + right if self.how == "sum" else max(left, right)


def test_static_fields_of_reducers_belong_to_the_simulation(path):
    run(path, reduce=Chosen("sum"))
    with pytest.raises(ValueError, match="differs in `reduce`"):
        run(path, 600, reduce=Chosen("max"))


def test_relative_paths_stay_where_they_are(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    run("run", reduce=Vanishing(lambda: monkeypatch.chdir(tmp_path / "elsewhere")), every=100)
    assert draws(tmp_path / "run") == 500


def test_sigterm_that_is_ignored_stays_ignored(path):
    with handled_by(signal.SIG_IGN):
        assert run(path, reduce=Vanishing(lambda: signal.raise_signal(signal.SIGTERM)), every=100) == 500
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        (b"", Damaged, "it is empty"),
        (b"some,table\n1,2\n", Foreign, "it is no checkpoint of rmtjax"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", Foreign, "it is no checkpoint of rmtjax"),
        (b"rmtjax checkpoint 1 sha256 00\n", Foreign, "it has format 1, and this version of rmtjax reads format 2"),
        (b"rmtjax checkpoint 2 0 " + b"0" * 64 + b"\n", Damaged, "its manifest has a wrong checksum"),
        (b"rmtjax checkpoint 2 sha256 00\n", Damaged, "its title is damaged"),
        (b"rmtjax chockpoint 2 0\n", Damaged, "its title is damaged"),
        (bytes(4096), Damaged, "its title is damaged"),
    ],
)
@pytest.mark.parametrize("beside_a_previous_one", [False, True])
def test_a_file_of_another_kind_is_left_alone(path, content, kind, reason, beside_a_previous_one):
    with pytest.raises(kind, match=reason):
        unpacked(content)
    if beside_a_previous_one and kind is Foreign:  # a damaged file would be replaced
        run(path, 300, every=100)
    before = {file.name for file in path.parent.iterdir()} | {"run"}
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"run cannot be used: {reason}"):
        run(path)
    assert path.read_bytes() == content
    assert {file.name for file in path.parent.iterdir()} == before


def test_the_previous_checkpoint_serves_if_the_last_is_damaged(path):
    undisturbed = run(path, 300, every=100)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(RuntimeWarning, match=r"run cannot be used: .* from .*run.previous, saved after 200 draws"):
        again = run(path, 300)
    np.testing.assert_array_equal(again.counts, undisturbed.counts)
    # The damaged file did not replace the good one.
    assert draws(path) == 300
    assert draws(path.with_name("run.previous")) == 200


def forged(content: bytes, change: Callable[[list], Any]) -> bytes:
    """A file with another manifest and right checksums; the manifest is what is left of a list, or text."""
    title, _, rest = content.partition(b"\n")
    length = int(title.split()[3])
    manifest = json.loads(rest[:length])
    text = change(manifest)
    text = text if isinstance(text, bytes) else json.dumps(manifest).encode()
    digest = hashlib.sha256(text).hexdigest()
    return f"rmtjax checkpoint 2 {len(text)} {digest}\n".encode() + text + rest[length:]


def entry(*place_and_value) -> Callable[[list], None]:
    *path, last, value = place_and_value

    def change(manifest):
        for step in path:
            manifest = manifest[step]
        manifest[last] = value

    return change


DRAWS, BATCH, FACTS, LEAVES, DIGEST = range(5)
FORGED = {
    **{
        f"draws {value}": entry(DRAWS, value)
        for value in (math.nan, math.inf, 1.5, True, -1, 0, 2**40, "300", None, [])
    },
    "draws of 5000 digits": lambda manifest: b"[1" + b"0" * 5000 + b"]",
    **{f"batch {value}": entry(BATCH, value) for value in (0, -1, 1.5, True, None, 2**40)},
    **{f"facts {value}": entry(FACTS, value) for value in ([], None, {"a": 1}, 5)},
    **{
        f"leaves {value}": entry(LEAVES, value)
        for value in (None, {}, [], [1], [["int64"]], "ab", [["int64", [8]]] * 50)
    },
    **{
        f"dtype {value!a}": entry(LEAVES, 0, 0, value)
        for value in (
            *"object float16 V8 i8,i8 <U2 datetime64[s] (2,2 \ud800 (99999999999,)f8".split(" "),
            "",
            7,
            None,
            [""],
        )
    },
    **{
        f"shape {value}": entry(LEAVES, 0, 1, value)
        for value in (None, 8, [-8], [8.0], [True], ["8"], [9], [2**40], [0, 2**47, 2**47], [1] * 65, [[8]], [2**80])
    },
    **{f"digest {value}": entry(DIGEST, value) for value in (None, "", 5, "0" * 64)},
    "another entry": lambda manifest: manifest.append(1),
    "too few entries": lambda manifest: manifest.pop(),
    "a dict": lambda manifest: b"{}",
    "deep": lambda manifest: b"[" * 100_000,
    "no text": lambda manifest: b"\xff\xfe",
    "nothing": lambda manifest: b"",
}


@pytest.mark.parametrize("what", FORGED)
def test_no_forged_file_is_accepted(path, what):
    undisturbed = run(path, 300, every=100)
    forgery = forged(path.read_bytes(), FORGED[what])
    path.write_bytes(forgery)
    with pytest.warns(
        RuntimeWarning, match=r"`checkpoint` .*run cannot be used: it.* from .*run.previous, saved after"
    ):
        again = run(path, 300)
    np.testing.assert_array_equal(again.counts, undisturbed.counts)
    path.write_bytes(forgery)
    path.with_name("run.previous").unlink()
    with pytest.raises(ValueError, match=r"`checkpoint` .*run cannot be used: it.*Nothing was overwritten"):
        run(path, 300)
    assert path.read_bytes() == forgery


def test_a_file_is_not_read_before_its_title_and_size_are_right(path):
    run(path, 300)
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # a terabyte, without a byte on the disk
    with pytest.raises(ValueError, match=r"run cannot be used: it has 1099511627776 bytes instead of"):
        run(path, 300)
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="run cannot be used: its title is damaged"):
        run(path, 300)
    path.write_bytes(content)
    assert run(path, 300).total == 900


def test_devices_and_pipes_are_refused(path):
    os.mkfifo(path)
    for other in (path, "/dev/zero"):
        with pytest.raises(ValueError, match="`checkpoint` must be a file, not a device or a pipe"):
            run(other, 300)


def test_names_for_which_there_is_no_room_are_refused(path):
    longest = os.pathconf(path.parent, "PC_NAME_MAX") - len(".previous")
    run(path.with_name("a" * longest), 300, every=100)
    run(path.with_name("a" * longest), 400)
    with pytest.raises(ValueError, match=f"`checkpoint` must have a name of at most {longest} bytes"):
        run(path.with_name("a" * (longest + 1)), 300)
    for name in ("a" * 300, "a\0b", "~nobody-of-this-name/run"):
        with pytest.raises(ValueError, match="`checkpoint` must be the path of a file"):
            run(name, 300)


def test_a_file_that_cannot_be_read_now_is_not_replaced(path, monkeypatch):
    run(path, 300, every=100)
    content = path.read_bytes()

    def stale(*_):
        raise OSError(errno.ESTALE, "Stale file handle")

    with monkeypatch.context() as patched:
        patched.setattr("rmtjax.simulation._checkpoint.read", stale)
        with pytest.raises(ValueError, match=r"`checkpoint` .*run cannot be used: .*Stale file handle.*overwritten"):
            run(path, 400)
    assert path.read_bytes() == content


def test_a_file_system_without_modes(path, monkeypatch):
    run(path, 300)

    def refuse(*_):
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr("rmtjax.simulation._checkpoint.os.chmod", refuse)
    run(path, 400)
    assert draws(path) == 400


def test_states_that_keep_draws_fit_their_number(path):
    reduce = rmt.simulation.Collect()
    run(path, 300, reduce=reduce)
    content = path.read_bytes()
    for change in (entry(DRAWS, 20), entry(LEAVES, 1, 1, [100, 9]), entry(LEAVES, 1, 1, [900])):
        path.write_bytes(forged(content, change))
        with pytest.raises(
            ValueError, match=r"`checkpoint` .*run cannot be used: its arrays are no states of `reduce`"
        ):
            run(path, 400, reduce=reduce)


def test_a_link_stands_for_its_file(path):
    link, other = path.with_name("link"), path.with_name("other")
    link.symlink_to(path)
    run(link, 300)
    assert link.is_symlink()
    assert draws(path) == 300
    with Store(path).locked(), pytest.raises(RuntimeError, match="Another run writes to the checkpoint"):
        run(link, 400)
    # A link beside the checkpoint leads nowhere.
    path.with_name("run.new").symlink_to(other)
    run(path, 500)
    assert draws(path) == 500
    assert not other.exists()
    path.unlink()
    path.symlink_to(link)
    with pytest.raises(ValueError, match="`checkpoint` must be the path of a file, or of a link to one"):
        run(path, 500)


def test_rights_stay_what_they_were(path):
    run(path, 300)
    path.chmod(0o600)
    run(path, 400)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.with_name("run.previous").stat().st_mode & 0o777 == 0o600


def test_a_run_goes_on_with_the_batch_size_that_it_had(path):
    batch = lambda: unpacked(path.read_bytes()).batch
    run(path.with_name("short"), 10)
    assert unpacked(path.with_name("short").read_bytes()).batch > 10
    run(path, 300, batch_size=7)
    run(path, 400)
    assert batch() == 7
    run(path, 500, batch_size=11)
    assert batch() == 11


def test_two_runs_on_one_path(path):
    store = Store(path)
    with store.locked(), pytest.raises(RuntimeError, match=r"Another run writes to the checkpoint .*run; only one may"):
        run(path)
    assert run(path).total == 1500
    # A killed process leaves a file behind, but no lock.
    path.with_name("run.lock").touch()
    assert run(path, 600).total == 1800
    assert not path.with_name("run.lock").exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_disk_that_refuses(path, monkeypatch, number):
    run(path, 300)
    content = path.read_bytes()

    def refuse(*_):
        raise OSError(number, "no")

    monkeypatch.setattr("rmtjax.simulation._checkpoint.os.fsync", refuse)
    with pytest.warns(RuntimeWarning, match=r"run cannot be written: .* no; 300 draws are saved\. The run goes on"):
        assert run(path, 600, every=100).total == 1800
    with pytest.raises(OSError, match=r"run cannot be written: .* no; 300 draws are saved") as caught:
        run(path, 600, on_write_error="raise")
    assert caught.value.errno == number
    assert path.read_bytes() == content
    assert sorted(file.name for file in path.parent.iterdir()) == ["run"]


def test_a_full_disk(path):
    """A write meets a limit for the size of files in the same way as the end of a disk."""
    run(path.with_name("first"), 600, batch_size=300)  # the same program, whose entry in JAX's cache would be too large
    run(path, 300)
    content, before = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    with handled_by(signal.SIG_IGN, signal.SIGXFSZ):
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) // 2, before[1]))
            with pytest.warns(RuntimeWarning, match="run cannot be written: .*File too large"):
                result = run(path, 600, batch_size=300)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert result.total == 1800
    assert path.read_bytes() == content


class Vanishing(Counted):
    """A reducer that acts when its states are merged for the second time, but only once."""

    action: object
    acted: list = eqx.field(default_factory=list, static=True)

    def merge(self, left, right):
        if left > 0 and not self.acted:
            self.acted.append(True)
            self.action()
        return left + right


def test_a_folder_that_vanishes(path):
    vanish = lambda: shutil.rmtree(path.parent, ignore_errors=True)
    with pytest.warns(RuntimeWarning, match="run cannot be written: .*No such file or directory"):
        assert run(path, reduce=Vanishing(vanish), every=100) == 500


def test_a_clock_that_goes_backwards(path, monkeypatch):
    now = iter(range(10**6, 0, -1000))
    monkeypatch.setattr(time, "time", lambda: next(now))
    assert run(path, every="1s", batch_size=50).total == 1500


def test_ctrl_c_returns_what_there_is(path):
    interrupt = lambda: signal.raise_signal(signal.SIGINT)
    with pytest.warns(rmt.simulation.Interrupted, match=r"Interrupted after .* of 500 draws, which are saved in .*run"):
        partial = run(path, reduce=Vanishing(interrupt), every=100)
    assert 0 < partial < 500
    assert draws(path) == partial
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_returns_the_draws_stacked_so_far(monkeypatch):
    expected = rmt.simulate(uniform, KEY, 10)
    bar = lambda *_: contextlib.nullcontext(lambda *_: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr("rmtjax.simulation._simulate.shown_progress", bar)
    with pytest.warns(rmt.simulation.Interrupted, match=r"Interrupted after 10 of 500 draws\.$"):
        stacked = rmt.simulate(uniform, KEY, 500, batch_size=10 // jax.device_count())
    np.testing.assert_array_equal(stacked, expected)


def test_sigterm_is_obeyed_after_the_state_is_saved(path):
    seen = []
    with handled_by(lambda *_: seen.append(draws(path))), pytest.warns(rmt.simulation.Interrupted):
        partial = run(path, reduce=Vanishing(lambda: signal.raise_signal(signal.SIGTERM)), every=100)
    assert 0 < partial < 500
    assert seen == [partial]


@pytest.mark.parametrize(
    ("every", "draws", "seconds"),
    [(100, 100, np.inf), ("90s", np.inf, 90), ("1.5 h", np.inf, 5400), ("5min", np.inf, 300)],
)
def test_intervals(every, draws, seconds):
    interval = Interval(every)
    assert (interval.draws, interval.seconds) == (draws, seconds)


@pytest.mark.parametrize("every", [0, -1, "0s", "-5min", "5 parsecs", "", 2.5, None, True])
def test_bad_intervals(path, every):
    with pytest.raises(ValueError, match="`every` must be a number of draws of at least 1, or a time such as"):
        run(path, every=every)


def test_bad_paths(path):
    with pytest.raises(ValueError, match="`checkpoint` must be the path of a file"):
        run(3)
    with pytest.raises(ValueError, match="`checkpoint` must be the path of a file, not of a folder"):
        run(path.parent)
    with pytest.raises(ValueError, match="`checkpoint` must be in a folder that exists"):
        run(path / "run")
    run(path)
    with pytest.raises(ValueError, match="`num_samples` must be at least the 500 draws of the checkpoint, got 400"):
        run(path, 400)
    with pytest.raises(ValueError, match="`reduce` must be a reducer for `checkpoint` and `stop_when`, got None"):
        run(path, reduce=None)
    with pytest.raises(ValueError, match="`on_write_error` must be"):
        run(path, on_write_error="ignore")
