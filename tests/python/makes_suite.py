"""Makes of clients, each in a consumer group of its own: three members join, one leaves and comes back, one is killed and
comes back, while records are written.

Each case is one make in one mode of `thalweg.group.classic.rebalance.mode`; Apache Kafka has no such setting and runs both
the same way. All makes run at once, one mode after the other. What must hold is in `group_soak_check.py`; beside that,
after each step every partition has one owner, and every member has a partition.
"""

import pathlib

from group_run import BEGIN_SECONDS_MAX, GroupRun, Load, Watcher
from group_soak_members import Member, environment, make_programs
from suite import CASES, Skipped, check, eventually, main

MODE = "thalweg.group.classic.rebalance.mode"
MODES = ["server", "barrier"]
# Each make, and the assignors that its worker is told; those with none offer the defaults of their make.
MAKES = {
    "platformatic": "", "kafka_go": "range,roundrobin", "goka": "", "spring": "", "vertx": "", "pekko": "", "krafka": "",
}  # fmt: skip
# Makes that commit, or repeat a refused commit, after they have joined again: what they had before goes over what they or
# others have committed since. (For partitions of others a group that the coordinator assigns refuses it.)
LATE = {"platformatic", "vertx", "pekko"}
SESSION_MS, HEARTBEAT_MS, REBALANCE_MS = 6000, 500, 20_000
# Of each of the two topics, and records a second in both. goka takes topics with as many partitions only.
PARTITIONS, RATE = 4, 60
# No change for so long is rest.
REST_SECONDS = 1.0


def one_make(c, make, mode):
    programs = make_programs(c.options)
    if make not in programs:
        raise Skipped(f"there is no program for {make}")
    group = c.name(f"{make}-{mode}")
    topics = {f"{group}-{letter}": PARTITIONS for letter in "ab"}
    scratch = pathlib.Path(c.scratch) / f"{make}-{mode}"
    run = GroupRun(c.bootstrap, group, topics, scratch, SESSION_MS, may_go_back=make in LATE)
    arguments = {
        "bootstrap": c.bootstrap, "group": group, "topics": ",".join(topics), "assignors": MAKES[make],
        "protocol": "classic", "session_ms": SESSION_MS, "heartbeat_ms": HEARTBEAT_MS, "rebalance_ms": REBALANCE_MS,
        "metadata_ms": 2000, "commit": "sync", "commit_ms": 250, "work_us": 1000,
    }  # fmt: skip
    for number in range(3):
        run.members.append(Member(f"m{number}", make, programs[make], arguments, environment(c.options), run.scratch))
    complete = False
    try:
        live(run, mode if c.target == "thalweg" else None)
        complete = True
    finally:
        run.end()
    faults = run.verify(complete)
    check(not faults, f"{len(faults)} faults: {'; '.join(faults[:3])}; see {run.scratch}")


def live(run, mode):
    run.create_topics()
    if mode is not None:
        run.configure(MODE, mode)
    first, second, third = run.members
    run.load = Load(run.bootstrap, run.topics, RATE)
    run.watcher = Watcher(run.bootstrap, run.group, run.topics)

    def rest(step, *members):
        run.say(step)
        try:
            for member in members:
                eventually(f"{member.label} joins", BEGIN_SECONDS_MAX, lambda m=member: run.has_begun(m, m.life))
            run.at_rest(members, REST_SECONDS, all_work=True)
        except AssertionError as error:
            raise AssertionError(f"{step}: {error}") from None

    first.start()
    rest("one joins", first)
    second.start()
    third.start()
    rest("two join", *run.members)
    second.tell_to_leave()
    second.wait_until_left()
    rest("one has left", first, third)
    second.start()
    rest("it comes back", *run.members)
    third.kill()
    rest("one was killed", first, second)
    third.start()
    rest("it comes back", *run.members)
    run.load.stop()
    run.say("drain")
    run.drained()
    for member in run.members:
        member.tell_to_leave()
    for member in run.members:
        member.wait_until_left()


def is_wanted(name, options):
    """Compiling krafka takes a minute: its cases are left out unless its program is named."""
    return options.krafka or not name.startswith("krafka-")


for mode in MODES:
    for make in MAKES:
        CASES.append((f"{make}-{mode}", lambda c, make=make, mode=mode: one_make(c, make, mode)))


if __name__ == "__main__":
    main("makes", parallel=len(MAKES), is_wanted=is_wanted)
