"""Saves an engine over an older one and dies on the way, again and again; run by `test_saved`.

Arguments: the file, ``lines`` or ``times``, how often, a seed. For each death a child is
forked that saves; ``lines`` kills it before its n-th line within `saved/file.py`, ``times``
after a random time, between far shorter and far longer than a save. Prints how many deaths
left the old engine and how many the new one, the last n, and how many half-written files.
"""

import os
import random
import signal
import sys
from pathlib import Path

from resonate_lab import Engine
from resonate_lab.engine.saved import file as under_test


def engine(name, promises):
    made = Engine(now="2024-01-01")
    for number in range(promises):
        made.promises.create(f"{name}-{number}", timeout="1h")
    return made


def die_before_line(number, work):
    """Do some work in a child that is killed before its n-th line; None if it ended before."""
    pid = os.fork()
    if pid:
        return died(pid)
    left = [number]

    def trace(frame, event, _):
        if frame.f_code.co_filename != under_test.__file__:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    work()
    os._exit(0)


def die_after(seconds, work):
    """Do some work over and over in a child that an alarm kills."""
    pid = os.fork()
    if pid:
        return died(pid)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    while True:
        work()


def died(pid):
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def main(path, way, deaths, seed):
    chance = random.Random(seed)
    old, new = engine("old", 400), engine("new", 400)
    old.save(path)
    outcomes = {"old": 0, "new": 0}
    for number in range(deaths):
        if way == "lines":
            killed = die_before_line(number, lambda: new.save(path))
        else:
            # Evenly over the orders of magnitude, for nobody knows how busy the machine is.
            killed = die_after(10 ** chance.uniform(-4, -0.3), lambda: new.save(path))
        found = next(iter(Engine.load(path).state.promises)).partition("-")[0]
        outcomes[found] += 1
        if not killed:
            break
        if found == "new":
            old.save(path)
    parts = len(list(Path(path).parent.glob(".resonate-*.part")))
    print(outcomes["old"], outcomes["new"], number, parts)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
