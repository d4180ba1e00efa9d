"""Signals, threads, forks and memory."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import scalecalc

LONG = """
    import sys, time, scalecalc
    print("begun", flush=True)
    try:
        {call}
    except KeyboardInterrupt:
        print("stopped", scalecalc.deepnorm(layers=1000).lambda_, flush=True)
"""


@pytest.mark.parametrize("call", [
    'scalecalc.verify("gpt2", seeds=10000)',
    'scalecalc.sweep("pre-ln-12", layers=[64, 128], seeds=5000, width=128)',
    'scalecalc.activation(expr="sin(x)^9*erf(x)^7*tanh(x)^5", methods="montecarlo", samples=10**10)',
    'scalecalc.coordinates("gpt2", widths=[192, 384], seeds=100, optimizer="adamw")',
])
def test_interrupt_stops_long_work_and_leaves_the_package_usable(call):
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(LONG.format(call=call))],
                             stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    time.sleep(1.5)
    assert child.poll() is None, "it is over before it is stopped"
    child.send_signal(signal.SIGINT)
    # What is begun is a forward and a backward pass, or a panel of a quadrature: less than a second on
    # a machine that does nothing else. All of the work takes many minutes.
    rest, _ = child.communicate(timeout=60)
    assert rest.startswith("stopped 0.0223606797749"), rest


def test_other_threads_run_while_a_command_works():
    ticks = 0
    is_over = threading.Event()

    def tick():
        nonlocal ticks
        while not is_over.wait(0.01):
            ticks += 1

    other = threading.Thread(target=tick)
    other.start()
    begun = time.monotonic()
    scalecalc.verify("mlp-tanh", seeds=400)
    elapsed = time.monotonic() - begun
    is_over.set()
    other.join()
    assert ticks > 5 * elapsed  # of at most 100 in a second


def test_threads_get_their_own_results():
    depths = list(range(2, 34))
    wanted = [scalecalc.deepnorm(layers=depth).lambda_ for depth in depths]
    found = [None] * len(depths)
    errors = []

    def ask(place):
        found[place] = scalecalc.deepnorm(layers=depths[place]).lambda_
        try:
            scalecalc.deepnorm(layers=-depths[place])
        except ValueError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(depths))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == wanted
    assert sorted(errors) == sorted(
        f"--layers must be an integer from 1 to 1000000 (got '-{depth}'); for example --layers 12"
        for depth in depths)


CODE = '''
import sys
from scalecalc_test_meeting import meeting

meeting.wait(60)
found = {number} if sys.modules[__name__].__dict__ is globals() else None
meeting.wait(60)
'''


def test_generated_code_has_a_module_of_its_own_in_each_thread(monkeypatch):
    import types

    from scalecalc import _code

    shared = types.ModuleType("scalecalc_test_meeting")
    shared.meeting = threading.Barrier(4)
    monkeypatch.setitem(sys.modules, shared.__name__, shared)
    before = set(sys.modules)
    found = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: _code.code_of(CODE.format(number=k))["found"]}))
               for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {k: k for k in range(4)}
    assert set(sys.modules) == before


def test_threads_share_nothing_but_their_turn():
    """Each kind of work at once, in threads that the interpreter switches between every few operations:
    formulas take no turn, and run while a command of another thread does."""
    import pickle

    from scalecalc.functions import sigmoid

    latex = {k: scalecalc.Formula(f"(1+{k}*N)^(1/2)").latex for k in range(2, 2002)}
    gains = {k: scalecalc.activation(expr=lambda x, k=k: x * sigmoid(k * x)).gain_second for k in (1, 2)}
    report = scalecalc.propagate("mlp-tanh")
    wanted = report.to_dict()

    def formulas(k):
        assert scalecalc.Formula(f"(1+{k}*N)^(1/2)").latex == latex[k]

    def commands(k):
        assert scalecalc.propagate("mlp-tanh").to_dict() == wanted
        assert scalecalc.activation(
            expr=lambda x: x * sigmoid((1 + k % 2) * x)).gain_second == gains[1 + k % 2]

    def records(_):
        assert pickle.loads(pickle.dumps(report)).to_dict() == wanted
        assert [site.path for site in report.sites] == [site["path"] for site in wanted["results"]["sites"]]

    errors = []

    def repeat(work, times):
        try:
            for k in range(2, 2 + times):
                work(k)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=repeat, args=pair)
                   for pair in ((formulas, 2000), (commands, 15), (records, 50)) * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not errors, errors


FORK = """
    import os, time, scalecalc
    wanted = scalecalc.verify("mlp-tanh", seeds=4, threads=4).to_dict()
    for _ in range(500):  # the system lists a thread that has been joined a moment longer
        if len(os.listdir("/proc/self/task")) == 1:
            break
        time.sleep(0.01)
    print(len(os.listdir("/proc/self/task")), flush=True)
    child = os.fork()
    if child == 0:
        found = scalecalc.verify("mlp-tanh", seeds=4, threads=4).to_dict()
        os._exit(0 if found == wanted else 1)
    print(os.waitpid(child, 0)[1])
"""


def test_no_thread_outlives_a_call_so_that_a_fork_works():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(FORK)], stdout=subprocess.PIPE,
                          text=True, timeout=120, check=True)
    assert done.stdout == "1\n0\n"


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_stays_flat():
    def ask(times):
        for k in range(times):
            scalecalc.deepnorm(layers=2 + k % 50)
            with pytest.raises(ValueError):
                scalecalc.deepnorm(layers=0)
            scalecalc.convention("nn.init.xavier_uniform_(w)", shape="16x16").std  # noqa: B018

    ask(300)  # caches are full
    before = resident()
    ask(1500)
    # 4500 calls: 1 kB a call would be 4.5 MB.
    assert resident() - before < 3_000_000


def test_import_is_fast():
    # Time of the processor: others may have it too.
    code = "import time; t = time.process_time(); import scalecalc; print(time.process_time() - t)"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times = [float(subprocess.run([sys.executable, "-c", code], env=environment, check=True,
                                  stdout=subprocess.PIPE).stdout) for _ in range(7)]
    assert min(times) < 0.05
