"""However a loop ends, nothing of it is left: no thread, no descriptor, no file, no memory."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import forebay as fb

pytestmark = pytest.mark.timeout(300)

# What every program of this page begins with.
BEGIN = """
import gc, os, random, signal, sys, threading, time
import forebay as fb

path, workers = sys.argv[1], int(sys.argv[2])
import forebay.dataloader.loader  # and torch with it, before the clock starts
with open(os.path.join(os.environ["TMPDIR"], "began"), "w") as file:
    file.write(str(time.monotonic()))

def make():
    dataset = fb.open_dataset(path)
    return fb.DataLoader(dataset, 4, True, num_workers=workers, memory="64MB")

def left():
    threads = [t.name for t in threading.enumerate() if t.name.startswith("forebay-")]
    files = [os.readlink(f"/proc/self/fd/{fd}") for fd in range(3, 60)
             if os.path.exists(f"/proc/self/fd/{fd}")]
    return threads + [f for f in files if f.startswith(path)]
"""


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path, monkeypatch):
    """Other processes, of other tests too, come and go in the usual one."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))


@pytest.fixture(params=["parquet", "recordio"])
def path(request, labels):
    return labels(request.param, 400)


@pytest.fixture
def one_path(labels):
    """For programs, of which each costs seconds: what they show does not depend on the format."""
    return labels("recordio", 400)


@pytest.fixture(params=[0, 2], ids=["alone", "threads"])
def workers(request):
    return request.param


@pytest.fixture
def loader(path, workers):
    return fb.DataLoader(fb.open_dataset(path), 4, True, num_workers=workers, memory="64MB")


def program(code, path, workers, *more):
    """(exit code, output, errors, seconds without imports) of a program in its own process."""
    ran = subprocess.run(
        [sys.executable, "-c", BEGIN + code, str(path), str(workers), *map(str, more)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    end = time.monotonic()
    began = Path(tempfile.gettempdir(), "began")
    seconds = end - float(began.read_text()) if began.exists() else float("inf")
    return ran.returncode, ran.stdout, ran.stderr, seconds


def threads():
    return [t for t in threading.enumerate() if t.name.startswith("forebay-")]


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def resident():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024


def held(loader_):
    """Bytes that a run left behind, but for what the loader keeps: indexes, memory, blocks."""
    kept = ("indexes", "pool", "kept")
    return sum(v for k, v in loader_.stats().budget_by_account.items() if k not in kept)


class State:
    """What must be the same before and after."""

    def __init__(self, loader_):
        self.loader = loader_
        self.before = self.now()

    def now(self):
        folder = self.loader.dataset.name
        return (
            len(threads()),
            descriptors(),
            sorted(os.listdir(folder)),
            sorted(os.listdir(tempfile.gettempdir())),
        )

    def same(self):
        assert self.now() == self.before
        assert held(self.loader) == 0
        return True


def leave_by_break(loader_):
    for _ in loader_:
        break


def leave_by_error(loader_):
    def function():
        for _ in loader_:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        function()


def leave_by_return(loader_):
    def function():
        for batch in loader_:
            return batch

    function()


def leave_by_end(loader_):
    assert len(list(loader_)) == 100


def leave_by_generator(loader_):
    def batches():
        yield from loader_

    generator = batches()
    next(generator)
    generator.close()


def leave_by_dropped_generator(loader_):
    generator = (batch for batch in loader_)
    next(generator)


def leave_by_close(loader_):
    iterator = iter(loader_)
    next(iterator)
    iterator.close()
    iterator.close()
    assert not threads()
    with pytest.raises(StopIteration):
        next(iterator)


def leave_before_the_first_batch(loader_):
    iter(loader_)


def leave_in_a_cycle(loader_):
    cycle = [iter(loader_)]
    next(cycle[0])
    cycle.append(cycle)
    del cycle
    gc.collect()


LEAVING = [
    leave_by_break, leave_by_error, leave_by_return, leave_by_end, leave_by_generator,
    leave_by_dropped_generator, leave_by_close, leave_before_the_first_batch, leave_in_a_cycle,
]  # fmt: skip


@pytest.mark.parametrize("leave", LEAVING, ids=lambda f: f.__name__)
def test_nothing_is_left_of_a_loop(loader, leave):
    leave_by_end(loader)  # what is loaded once, such as modules, is loaded now
    state = State(loader)
    for _ in range(3):
        leave(loader)
    assert state.same()
    leave_by_end(loader)


@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_a_thousand_first_batches_grow_nothing(labels, format, workers):
    dataset = fb.open_dataset(labels(format, 20))
    loader = fb.DataLoader(dataset, 4, True, num_workers=workers, memory="64MB", prefetch=2)

    def rounds(n):
        for _ in range(n):
            next(iter(loader))
        gc.collect()
        return len(threads()), descriptors(), resident()

    before = rounds(100)
    after = rounds(1000)
    assert after[:2] == before[:2]
    assert after[0] == 0
    # 10 MB of slack for what the allocator keeps: a run that leaked its blocks or its slots, or a
    # thread's stack, would take more than 10 kB a round.
    assert after[2] - before[2] < 10e6
    assert held(loader) == 0


def test_two_iterators_of_one_loader_live_at_once(loader):
    epochs = [[b["label"].tolist() for b in loader] for _ in range(2)]
    loader.set_epoch(0)
    one, two = iter(loader), iter(loader)
    got = [[], []]
    for _ in range(50):
        got[0].append(next(one)["label"].tolist())
        got[1].append(next(two)["label"].tolist())
    one.close()
    assert got[0] == epochs[0][:50]
    got[1] += [b["label"].tolist() for b in two]
    assert got[1] == epochs[1]
    assert held(loader) == 0
    assert not threads()


def test_many_loaders_at_once_end_with_their_owner(path):
    def several():
        made = [fb.DataLoader(fb.open_dataset(path), 4, num_workers=2) for _ in range(8)]
        iterators = [iter(m) for m in made]
        for iterator in iterators:
            next(iterator)
        assert len(threads()) == 16

    several()
    gc.collect()
    assert not threads()


BODY = """
loader = make()
for i, batch in enumerate(loader):
    if i == 5:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
"""


def test_an_interrupt_in_the_loop_s_body_ends_the_program(one_path, workers):
    code, out, err, seconds = program(BODY, one_path, workers)
    assert code == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert "Exception ignored" not in err
    assert out == ""
    assert seconds < 30


# Fetching is made slow, so that the interrupt meets a consumer that waits, or that reads itself.
CAUGHT = """
from forebay.dataloader.fetch.stage import FetchStage
run = FetchStage.run
def slow(self, key, rows):
    time.sleep(0.05)
    return run(self, key, rows)
FetchStage.run = slow
loader = make()
try:
    for batch in loader:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
except KeyboardInterrupt as e:
    print("in the body:", type(e).__name__)
print(left())
iterator = iter(make())  # which has kept no blocks, so that it fetches, slowly
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        next(iterator)
except KeyboardInterrupt as e:
    print("in next:", type(e).__name__)
print(left())
try:
    next(iterator)
except fb.errors.LoaderClosed as e:
    print("closed by", type(e.__cause__).__name__)
"""


def test_an_interrupt_that_is_caught_surfaces_as_itself_and_leaves_nothing(one_path, workers):
    code, out, err, seconds = program(CAUGHT, one_path, workers)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "in the body: KeyboardInterrupt",
        "[]",
        "in next: KeyboardInterrupt",
        "[]",
        "closed by KeyboardInterrupt",
    ]
    assert seconds < 30


# Interrupts at 40 random moments; one that comes while a finalizer runs is lost by Python itself,
# so they go on until one is met.
ANYWHERE = """
armed = False
def interrupt(number, frame):
    if armed:
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
sys.unraisablehook = lambda u: None
random.seed(1)
loader, wrong = make(), []
for _ in range(40):
    armed = True
    signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0005, 0.03), 0.05)
    try:
        while True:
            for batch in loader:
                pass
    except KeyboardInterrupt:
        armed = False
    except Exception as e:
        armed = False
        wrong.append(repr(e))
    signal.setitimer(signal.ITIMER_REAL, 0)
gc.collect()
deadline = time.monotonic() + 5
while left() and time.monotonic() < deadline:
    time.sleep(0.05)
print(wrong, left(), len(list(loader)))
"""


@pytest.mark.long
def test_interrupts_at_any_moment_surface_as_themselves(one_path, workers):
    code, out, err, _ = program(ANYWHERE, one_path, workers)
    assert (code, err, out) == (0, "", "[] [] 100\n")


# An interrupt at the k-th line that the consumer's thread runs of ours, for one k after another.
# Lines of `with` are left out: at its end Python never looks for interrupts, though it traces it.
AT_LINES = """
import linecache
stride, loader = int(sys.argv[3]), make()
sys.unraisablehook = lambda u: None

class Interrupt:
    def __init__(self, at):
        self.at, self.seen, self.where = at, 0, "none"

    def __call__(self, frame, event, arg):
        file = frame.f_code.co_filename
        if event == "line" and os.sep + os.path.join("forebay", "dataloader", "") in file:
            line = linecache.getline(file, frame.f_lineno).strip()
            self.seen += not line.startswith("with ")
            if self.seen == self.at:
                self.at, self.where = 0, f"{os.path.basename(file)}: {line}"
                raise KeyboardInterrupt
        return self

def held():
    loader._builder.trim(1 << 40)  # else it stays for the next run
    return {k: v for k, v in loader.stats().budget_by_account.items() if v and k != "indexes"}

def run(interrupt):
    sys.settrace(interrupt)
    try:
        for n, batch in enumerate(loader):
            if n == 4:
                break
    finally:
        sys.settrace(None)

counter = Interrupt(0)
run(counter)
wrong = set()
for at in range(1, counter.seen, stride):
    interrupt = Interrupt(at)
    try:
        run(interrupt)
    except KeyboardInterrupt:
        pass
    except Exception as e:
        wrong.add((interrupt.where, repr(e)))
    deadline = time.monotonic() + 10
    while (left() or held()) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.001)
    if left() or held():
        wrong.add((interrupt.where, *left(), *held()))
        break
print(counter.seen > 300, wrong)
"""


@pytest.mark.parametrize(("workers", "stride"), [(2, 5), (0, 61)], ids=["threads", "alone"])
def test_an_interrupt_at_any_line_leaves_nothing(one_path, workers, stride):
    ran = program(AT_LINES, one_path, workers, stride)
    assert ran[:3] == (0, "True set()\n", "")


AT_EXIT = """
loader = make()
iterator = iter(loader)
next(iterator)
print(threading.active_count() - 1)
"""


def test_the_program_ends_though_an_iterator_is_alive(one_path, workers):
    code, out, err, seconds = program(AT_EXIT, one_path, workers)
    assert (code, out, err) == (0, f"{workers}\n", "")
    assert seconds < 30


def test_the_program_ends_though_an_iterator_is_alive_in_a_cycle_or_a_thread(one_path):
    code, out, err, _ = program(
        """
class Holder: pass
holder = Holder()
holder.me, holder.iterator = holder, iter(make())
next(holder.iterator)
def consume():
    for batch in make():
        time.sleep(0.01)
threading.Thread(target=consume, daemon=True).start()
time.sleep(0.1)
print("end")
""",
        one_path,
        2,
    )
    assert (code, out, err) == (0, "end\n", "")


FORK = """
loader = make()
iterator = iter(loader)
next(iterator)
codes = []
for i in range(4):
    child = os.fork()
    if child == 0:
        try:
            next(iterator)
            os._exit(3)
        except fb.errors.LoaderClosed as e:
            if str(os.getpid()) not in str(e):
                os._exit(4)
        sys.exit(0)
    next(iterator)
    deadline = time.monotonic() + 20
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            codes.append(os.waitstatus_to_exitcode(status))
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            codes.append("hangs")
            break
        time.sleep(0.002)
print(codes, flush=True)  # else the child prints it too, where output is buffered
# The child inherits the lock as a thread that it does not have may have held it.
with iterator._runner._lock:
    child = os.fork()
    if child == 0:
        del iterator
        gc.collect()
        sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(len(list(iterator)))
"""


def test_a_fork_of_a_process_with_a_live_iterator_ends(one_path):
    code, out, err, _ = program(FORK, one_path, 2)
    assert (code, err) == (0, "")
    assert out.splitlines() == ["[0, 0, 0, 0]", "7", str(100 - 5)]
