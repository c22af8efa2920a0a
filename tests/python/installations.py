"""Whole installations, from Apache Kafka to Thalweg and back.

A node of Apache Kafka in combined mode is filled and stopped; Thalweg starts with the same
server.properties on the same directories, then Kafka again, then Thalweg again. Each of them must tell
what the other told, serve every record, and go on: groups keep their members, which live through all of
it, without a rebalance. In between each changes a bit of everything. (Groups that Thalweg assigned are a case
of their own: `installations_members.py` says what Kafka has their members do.)

The matrix has one case for each combination of `kraft.version` (static voters or a dynamic quorum), one
or two log directories, and how each side is stopped. What does not depend on these is a case of its own.

    installations.py --thalweg BINARY --jars FOLDER --previous-jars FOLDER --classes FOLDER --scratch FOLDER
                     --cases LIST
"""

import argparse
import concurrent.futures
import os
import sys
import time
import traceback

import installations_members
import installations_single
from installation import KAFKA, THALWEG
from moves import CLEAN, KILL, Move
from suite import check

CASES_AT_ONCE = 2
# What does not depend on the matrix.
SINGLE = installations_single.CASES | {"server-assigned": installations_members.ServerAssigned}


def combination(options, case):
    """A case of the matrix, by its name."""
    quorum, dirs, kafka_stop, thalweg_stop = case.split("-")
    stops = {KAFKA: kafka_stop, THALWEG: thalweg_stop}
    return Move(options, case, stops, static=quorum == "static", dirs={"1dir": 1, "2dirs": 2}[dirs])


def matrix():
    """The cases with all combinations."""
    return [
        f"{quorum}-{dirs}-{kafka}-{thalweg}"
        for quorum in ("static", "dynamic")
        for dirs in ("1dir", "2dirs")
        for kafka in (CLEAN, KILL)
        for thalweg in (CLEAN, KILL)
    ]


def run(options, case):
    """Prints a line for each step, and stops at the first that fails."""
    start = time.monotonic()
    move = None
    name = f"installations.{case}.start"
    try:
        move = SINGLE.get(case, combination)(options, case)
        for step, act in move.steps():
            name = f"installations.{case}.{step}"
            start = time.monotonic()
            what = act() or ""
            print(f"pass {name} {millis(start)} # {what}", flush=True)
        return True
    except Exception as error:
        traceback.print_exc()
        why = f"{type(error).__name__} {' '.join(str(error).split())[:3000]}"
        print(f"fail {name} {millis(start)}: {why}", flush=True)
        return False
    finally:
        if move is not None:
            move.end()


def millis(start):
    return int((time.monotonic() - start) * 1000)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="installations that go to another broker and back")
    parser.add_argument("--thalweg", required=True, metavar="BINARY")
    parser.add_argument("--jars", required=True, metavar="FOLDER")
    parser.add_argument("--previous-jars", required=True, metavar="FOLDER")
    parser.add_argument("--classes", required=True, metavar="FOLDER")
    parser.add_argument("--scratch", required=True, metavar="FOLDER")
    parser.add_argument("--cases", required=True, metavar="LIST")
    chosen = parser.parse_args()
    cases = chosen.cases.split(",")
    unknown = set(cases) - set(matrix()) - set(SINGLE)
    check(not unknown, f"unknown cases {sorted(unknown)}")
    with concurrent.futures.ThreadPoolExecutor(CASES_AT_ONCE) as pool:
        clean = all(list(pool.map(lambda case: run(chosen, case), cases)))
    sys.stdout.flush()
    os._exit(0 if clean else 1)
