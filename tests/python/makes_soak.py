"""Makes of clients, each in a consumer group of its own, for long: members are scaled, killed and paused, and their
connections are cut and refused (`group_proxy.py`), in both modes of `thalweg.group.classic.rebalance.mode`.

    makes_soak.py --binary THALWEG --scratch FOLDER [--minutes N] [--seed N] [--mode server|barrier|both]
                  [--only LIST] [--set NAME=VALUE] [--node-modules FOLDER] [--go-workers FOLDER] [--makes FOLDER]
                  [--krafka FILE]

A round is one group of each make, all at once; rounds follow each other with the next seed, and the mode changes from
round to round. A seed decides what is done to which member, and when. 0 minutes are one round. What must hold is in
`group_soak_check.py`; in the end of a round every partition has one owner, and every record was processed.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import sys
import time

from group_proxy import Proxy
from group_run import BEGIN_SECONDS_MAX, GroupRun, Load, Watcher
from group_soak_members import Member, environment, make_programs
from group_soak_runs import Deed, plan
from kill import Broker
from makes_suite import HEARTBEAT_MS, LATE, MAKES, MODE, MODES, PARTITIONS, RATE, REBALANCE_MS, SESSION_MS
from ports import free
from suite import check, eventually

MEMBERS, STORM_SECONDS, REST_SECONDS = 4, 40, 2.5
SETTINGS = {"node.id": 1, "auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": 0}
# For how long a client is refused after its connections were cut.
REFUSED_SECONDS = [0.0, 0.0, 0.5, 2.0]
FAULTS_SHOWN = 5


def cuts(rng, members, seconds):
    """Which members' connections are cut, and for how long they are refused."""
    out, at = [], rng.uniform(2, 6)
    while at < seconds:
        out.append(Deed(at, "cut", rng.randrange(members), rng.choice(REFUSED_SECONDS)))
        at += rng.uniform(2, 9)
    return out


class MakeRound(GroupRun):
    """The group of one make in one round."""

    def __init__(self, options, make, mode, seed, broker, proxy, bootstrap, scratch):
        group = f"{make}-{seed}"
        topics = {f"{group}-{letter}": PARTITIONS for letter in "ab"}
        super().__init__(bootstrap, group, topics, scratch / group, SESSION_MS, may_go_back=make in LATE)
        self.make, self.mode, self.broker, self.proxy = make, mode, broker, proxy
        self.rng = random.Random(group)
        self.work_us = self.rng.choice([100, 1000, 4000])
        program = make_programs(options)[make]
        for number in range(MEMBERS):
            arguments = {
                "bootstrap": bootstrap, "group": group, "topics": ",".join(self.topics), "assignors": MAKES[make],
                "protocol": "classic", "session_ms": SESSION_MS, "heartbeat_ms": HEARTBEAT_MS,
                "rebalance_ms": REBALANCE_MS, "metadata_ms": 2000, "commit": "sync", "commit_ms": 250,
                "work_us": self.work_us,
            }  # fmt: skip
            name = f"{make}-m{number}"
            self.members.append(Member(name, make, program, arguments, environment(options), self.scratch))
        # goka takes topics with as many partitions only, so none grows.
        deeds = plan(self.rng, MEMBERS, STORM_SECONDS, SESSION_MS / 1000)
        self.deeds = [deed for deed in deeds if deed.what != "grow"] + cuts(self.rng, MEMBERS, STORM_SECONDS)

    def check_broker(self):
        check(self.broker.process.poll() is None, "the broker ended by itself")

    def do(self, deed):
        if deed.what != "cut":
            return super().do(deed)
        member = self.members[deed.whom]
        self.say(f"cut {member.name} {deed.seconds:.1f}")
        self.proxy.cut(member.name, deed.seconds)

    def run(self):
        self.create_topics()
        self.configure(MODE, self.mode)
        self.load = Load(self.bootstrap, self.topics, RATE)
        self.watcher = Watcher(self.bootstrap, self.group, self.topics)
        for member in self.members:
            member.start()
        self.all_joined()
        self.storm(self.deeds)
        self.say("settle")
        self.all_joined()
        self.at_rest(self.members, REST_SECONDS, all_work=True)
        self.load.stop()
        self.drained()
        for member in self.members:
            member.tell_to_leave()
        for member in self.members:
            member.wait_until_left()

    def all_joined(self):
        for member in self.members:
            eventually(f"{member.label} joins", BEGIN_SECONDS_MAX, lambda m=member: self.has_begun(m, m.life))


def one_make(this):
    """Runs it to its end; gives what was wrong."""
    complete = False
    try:
        this.run()
        complete = True
    except Exception as error:  # any is the verdict
        this.faults.append(f"{type(error).__name__} {' '.join(str(error).split())}")
    finally:
        this.end()
    return this.verify(complete)


def one_round(options, makes, mode, seed, broker, proxy, bootstrap, scratch):
    print(f"soak makes: {mode}, seed {seed}", flush=True)
    rounds = [MakeRound(options, make, mode, seed, broker, proxy, bootstrap, scratch) for make in makes]
    count = 0
    with concurrent.futures.ThreadPoolExecutor(len(rounds)) as pool:
        for this, faults in zip(rounds, pool.map(one_make, rounds)):
            count += len(faults)
            records = sum(this.load.counts.values()) if this.load else 0
            errors = [e["what"] for life in this.lives() for e in life.events if e["e"] == "error"]
            report = {
                "seed": seed, "mode": mode, "make": this.make, "deeds": len(this.deeds), "records": records,
                "lives": len(this.lives()), "errors": len(errors), "faults": faults,
            }
            with (scratch / "rounds.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(report) + "\n")
            print(
                f"  {this.make}: {len(this.deeds)} deeds, {len(this.lives())} processes, {records} records, "
                f"{len(errors)} errors told"
            )
            for fault in faults[:FAULTS_SHOWN]:
                print(f"  FAULT {this.make}: {fault}")
            if faults:
                print(f"  {len(faults)} in all, see {this.scratch}; again: --only {this.make} --mode {mode} --seed {seed}")
            else:
                shutil.rmtree(this.scratch, ignore_errors=True)
    sys.stdout.flush()
    return count


def main():
    parser = argparse.ArgumentParser(description="each make of clients in a group of its own")
    parser.add_argument("--binary", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--mode", default="both", choices=[*MODES, "both"])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--only", default="", metavar="LIST", help=f"of {', '.join(MAKES)}")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--node-modules", metavar="FOLDER")
    parser.add_argument("--go-workers", metavar="FOLDER")
    parser.add_argument("--makes", metavar="FOLDER")
    parser.add_argument("--krafka", metavar="FILE")
    options = parser.parse_args()
    programs = make_programs(options)
    makes = [make for make in (options.only.split(",") if options.only else MAKES) if make in programs]
    if not makes:
        parser.error("there is no program of any of these makes")
    modes = MODES if options.mode == "both" else [options.mode]
    print(f"soak makes: seed {options.seed}; makes: {', '.join(makes)}", flush=True)
    # So that the processes of the members end, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    scratch = pathlib.Path(options.scratch).absolute()
    scratch.mkdir(parents=True, exist_ok=True)
    inner, outer = free(), free()
    bootstrap = f"127.0.0.1:{outer}"
    command = [options.binary, "serve", "--listen", f"127.0.0.1:{inner}", "--data", str(scratch / "data")]
    settings = {**SETTINGS, "advertised.listeners": f"PLAINTEXT://{bootstrap}"}
    settings.update(one.split("=", 1) for one in options.set)
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    faults = rounds = 0
    with (scratch / "broker.log").open("ab", buffering=0) as log:
        broker = Broker(shlex.join(command), f"127.0.0.1:{inner}", log)
        broker.start()
        proxy = Proxy(outer, inner)
        try:
            end = time.monotonic() + options.minutes * 60
            while rounds == 0 or time.monotonic() < end:
                mode = modes[(options.seed + rounds) % len(modes)]
                faults += one_round(options, makes, mode, options.seed + rounds, broker, proxy, bootstrap, scratch)
                rounds += 1
        finally:
            if broker.process.poll() is None:
                broker.stop(signal.SIGTERM)
    for line in (scratch / "broker.log").read_text(errors="replace").splitlines():
        if "ERROR" in line or "panicked" in line:
            print(f"soak makes: the broker's log: {line}")
            faults += 1
    print(f"soak makes: {rounds} rounds, {faults} faults", flush=True)
    # Threads of a client that hangs must not keep a finished run alive.
    os._exit(1 if faults else 0)


if __name__ == "__main__":
    main()
