"""Run probes in processes that may crash or hang: ``python -m tests.trust.pool`` is one such process.

The parent writes the name of a probe on a line, the child answers with its outcome in JSON.
"""

import json
import math
import os
import queue
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_MEMORY = 12 * 2**30
# Seconds until a process has imported everything, on a machine with many other processes.
START = 1800
# Part of the names of probes that run in a copy of the process.
RISKY = ":csr_"
# Part of the names of faults that compile everything once or twice, and how many times the limit they may take: they
# limit the processor seconds themselves.
COMPILING, PATIENCE = ":cache:", 10
# On a machine with other processes a probe may take this many times its limit, while it has used less than the limit.
LOADED = 4


class Child:
    """One process that runs probes."""

    def __init__(self):
        environment = os.environ | {
            "MPLBACKEND": "Agg",
            "SCIPY_ARRAY_API": "1",
            "OMP_NUM_THREADS": "1",
        }
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.trust.pool"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.answer(START)

    def ask(self, name, limit):
        """Return (kind, evidence) of a probe; a process that does not answer is killed."""
        self.process.stdin.write(name.encode() + b"\n")
        self.process.stdin.flush()
        return self.answer(limit)

    def answer(self, limit):
        """Return the next answer of the process."""
        answer, start, used = b"", time.monotonic(), self.used()
        while not answer.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], limit)[0]:
                if self.used() - used < limit and time.monotonic() - start < LOADED * limit:
                    continue
                self.process.kill()
                self.process.wait()
                return "hang", f"no answer within {time.monotonic() - start:.3g} s"
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                return "crash", f"the process ended with {self.process.wait()}"
            answer += piece
        return tuple(json.loads(answer))

    def used(self):
        """Return the processor seconds that the process has used; infinity where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return math.inf
        # user and system time of the process, and of the copies that it waited for
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    @property
    def ended(self):
        """Whether the process crashed or was killed."""
        return self.process.poll() is not None

    def close(self):
        """End the process, by the end of its input if it still reads."""
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def run(names, workers=2, limit=60, said=lambda *_: None):
    """Return the outcomes {name: (kind, evidence)} of probes."""
    waiting, outcomes = queue.SimpleQueue(), {}
    for name in names:
        waiting.put(name)

    def work():
        child = Child()
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                child.close()
                return
            outcomes[name] = child.ask(name, limit * PATIENCE if COMPILING in name else limit)
            said(name, *outcomes[name])
            if child.ended:
                child.close()
                child = Child()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {name: outcomes[name] for name in names}


def _limit_memory():
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def _serve():
    """Answer names with outcomes, until the parent closes the pipe."""
    answers = os.fdopen(os.dup(1), "w")
    # whatever probes print must not mix with answers
    os.dup2(2, 1)
    _limit_memory()
    from tests.trust.faults import all_faults
    from tests.trust.probes import all_probes

    probes = all_probes() | all_faults()
    print(json.dumps(["ready", ""]), file=answers, flush=True)
    for line in sys.stdin:
        probe = probes[line.strip()]
        answer = _forked(probe) if RISKY in probe.name else _scored(probe)
        print(answer, file=answers, flush=True)


def _scored(probe):
    outcome = probe.run()
    return json.dumps([outcome.kind, outcome.evidence])


def _forked(probe):
    """Return the answer of a copy of this process, which may crash: starting a new one takes seconds."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writer, _scored(probe).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return answer or json.dumps(["crash", f"the process ended with {status}"])


if __name__ == "__main__":
    _serve()
