"""What fails in a cluster, one thing at a time, each for seconds: processes, the network between them, disks.

Two replicas that are in sync always live and reach each other, their clients and the controller, or do so again when
the fault is over: what was acknowledged is in no danger.
"""

import collections
import itertools
import signal
import sys
import time

from disks import Disks
from network import CLIENTS, Network, NotPermitted
from suite import check, eventually

# A little more than broker.session.timeout.ms.
SESSION_SECONDS = 3.5
SETTLE_SECONDS = 120
# TCP waits about as long again as a connection was cut.
SLOW_SECONDS = 5
# How often each of a kind comes in a round, in which the seed decides the order.
WAYS = {
    "process": ["kill"] * 3 + ["stop"] * 2 + ["term"] * 2 + ["move"],
    "network": ["zombie"] * 2
    + ["isolate", "zombie_killed", "controller", "cut", "cut", "one_way", "one_way", "mute", "delay", "loss"],
    "disk": ["full", "stalled", "stalled"],
}
# What they need beside processes. Disks come first: who has made a network is root there, and nowhere else.
MADE_READY = {
    "disk": lambda members, _, scratch: Disks(scratch, members[1:]),
    "network": lambda members, options, _: Network(members, options.seed),
}
# Shorter ones than a session are borne, longer ones cost what the broker leads.
CUT_SECONDS = (1, 9)
# No session ends, although TCP tries again only after as long again.
SHORT_CUT_SECONDS = (0.3, 1)


class Faults:
    """Chooses what fails next, brings it about and ends it.

    `brokers` are those that may be ended. `progress` tells for each partition how far its writers have got. `direct`
    writes to a leader that is cut off."""

    def __init__(self, cluster, rng, brokers, progress, direct=None):
        self.cluster, self.rng, self.brokers, self.progress = cluster, rng, brokers, progress
        self.direct = direct
        self.left = {kind: [] for kind in cluster.kinds}
        self.kinds = itertools.cycle(cluster.kinds)
        self.counts, self.packets = collections.Counter(), collections.Counter()
        self.slowest_ms = collections.Counter()
        # By a full disk.
        self.ended = 0

    def one(self):
        """One fault; at the end everything is in sync again."""
        self.all_run()
        time.sleep(self.rng.uniform(0.5, 3))
        kind = next(self.kinds)
        self.left[kind] = self.left[kind] or self.rng.sample(WAYS[kind], len(WAYS[kind]))
        way = self.left[kind].pop()
        self.counts[way] += getattr(self, way)()
        self.all_run()
        self.go_on(way)
        # Two replicas are to be in sync before the next one fails.
        eventually("all replicas in sync again", SETTLE_SECONDS, self.cluster.in_sync)

    def go_on(self, way):
        """Each partition makes progress again."""
        healed, before = time.monotonic(), self.progress()
        waiting = []
        is_told = False

        def is_going_on():
            nonlocal is_told
            left = [at for at, (now, then) in enumerate(zip(self.progress(), before)) if now <= then]
            waiting[:] = left or waiting
            if not is_told and time.monotonic() - healed > SLOW_SECONDS:
                is_told = True
                told = self.cluster.partitions()
                states = {at: (told[at].leader, told[at].isrs) for at in left if at in told}
                print(f"chaos: leader and ISR of partitions that wait for {SLOW_SECONDS} s: {states}", flush=True)
            return not left

        eventually(f"records of each partition acknowledged after {way}", SETTLE_SECONDS, is_going_on)
        passed_ms = round((time.monotonic() - healed) * 1000)
        self.slowest_ms[way] = max(passed_ms, self.slowest_ms[way])
        print(f"chaos: all partitions go on after {passed_ms} ms, the last {waiting}", flush=True)

    def all_run(self):
        for node in self.cluster.brokers:
            check(node.is_running(), f"{node.kind} {node.id} has ended by itself: see {node.log.name}")

    def result(self):
        return {
            "faults": dict(self.counts),
            "ended by a full disk": self.ended,
            "packets": dict(self.packets),
            "written to cut off leaders": dict(self.direct.answers) if self.direct else {},
            "progress after ms": dict(self.slowest_ms),
        }

    def tell_kinds(self, suite):
        """A line for each kind of faults that is a case of its own."""
        for kind in self.left:
            if kind in MADE_READY:
                count = sum(self.counts[way] for way in set(WAYS[kind]))
                check(count, f"there was no fault of the {kind}")
                print(f"pass {suite}.{kind}-faults 0 # {count} faults", flush=True)
        if "network" in self.left:
            check(self.packets["lost"], f"no packet was lost: {dict(self.packets)}")

    def choose(self, way):
        node = self.rng.choice(self.brokers)
        tell(way, node)
        return node

    # Processes

    def kill(self):
        return self.end("kill", signal.SIGKILL)

    def term(self):
        return self.end("term", signal.SIGTERM)

    def end(self, way, number):
        node = self.choose(way)
        node.end(number, 60)
        time.sleep(self.rng.uniform(0, 4))
        node.start()
        # Until its session is over the metadata may not say that it was away. The next one fails when it has come back.
        time.sleep(SESSION_SECONDS)
        return True

    def stop(self):
        node = self.choose("stop")
        node.signal(signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.5, 6))
        node.signal(signal.SIGCONT)
        return True

    def move(self):
        """Preferred leaders lead again: nobody dies."""
        print("chaos: move", flush=True)
        return self.cluster.elect()

    # The network

    def everybody(self):
        return [self.cluster.controller.id, *(node.id for node in self.cluster.brokers), CLIENTS]

    def fail(self, links, rule=(1, 0, 0), during=time.sleep, seconds=CUT_SECONDS):
        """These links fail for a while. `during` has so many seconds for what it does meanwhile."""
        seconds = self.rng.uniform(*seconds)
        self.cluster.network.rule({link: rule for link in links})
        try:
            during(seconds)
        finally:
            self.packets.update(self.cluster.network.heal())
        return True

    def cut(self):
        """Two of them do not hear each other."""
        one, other = self.pair()
        print(f"chaos: cut {one} and {other}", flush=True)
        return self.fail([(one, other), (other, one)])

    def one_way(self):
        """What one sends to another one is lost; the answers to nothing would arrive."""
        one, other = self.pair()
        print(f"chaos: one way, from {one} to {other}", flush=True)
        return self.fail([(one, other)])

    def pair(self):
        """Two that have something to say to each other."""
        while True:
            pair = self.rng.sample(self.everybody(), 2)
            if set(pair) != {self.cluster.controller.id, CLIENTS}:
                return pair

    def mute(self):
        """Nobody hears a broker, or it hears nobody; clients are as before."""
        node = self.leader()
        others = self.others(node)
        is_deaf = self.rng.random() < 0.5
        tell("deaf" if is_deaf else "mute", node)
        return self.fail([(other, node.id) if is_deaf else (node.id, other) for other in others])

    def isolate(self):
        """A broker is cut off from everybody."""
        node = self.leader()
        tell("isolate", node)
        return self.fail(ways(node.id, [*self.others(node), CLIENTS]))

    def zombie(self, during=None):
        """A broker that leads is cut off from everybody but clients, who go on writing to it."""
        node = self.leader()
        tell("zombie", node)
        led = self.led(node)

        def write(seconds):
            if self.direct is None:
                time.sleep(seconds)
            else:
                self.direct.write(node, led, seconds)
            if during is not None:
                during(node)

        return self.fail(ways(node.id, self.others(node)), during=write)

    def zombie_killed(self):
        """It is ended while it is cut off."""
        ended = []

        def end(node):
            node.end(signal.SIGKILL, 60)
            ended.append(node)

        self.zombie(during=end)
        for node in ended:
            node.start()
        time.sleep(SESSION_SECONDS)
        return True

    def controller(self):
        """The controller is cut off from all brokers for less than a session, or for longer from all but one.

        When all sessions have ended no partition has a leader, and librdkafka 2.16 is told so (KIP-951). After that a
        producer of its may do nothing any more, with Apache Kafka's brokers, too."""
        brokers = [node.id for node in self.cluster.brokers]
        seconds = SHORT_CUT_SECONDS
        if self.rng.random() < 0.5:
            brokers.remove(self.rng.choice(brokers))
            seconds = CUT_SECONDS
        print(f"chaos: no controller for {brokers}", flush=True)
        return self.fail(ways(self.cluster.controller.id, brokers), seconds=seconds)

    def delay(self):
        """What one sends and is sent is late, and not evenly."""
        one, delay_ms = self.rng.choice(self.everybody()), self.rng.randrange(20, 300)
        print(f"chaos: delay {one} by {delay_ms} ms", flush=True)
        return self.fail(ways(one, [other for other in self.everybody() if other != one]), (0, delay_ms, delay_ms // 2))

    def loss(self):
        """Some of what one sends and is sent is lost."""
        one, loss = self.rng.choice(self.everybody()), self.rng.uniform(0.02, 0.3)
        print(f"chaos: {loss:.0%} of {one}'s packets are lost", flush=True)
        return self.fail(ways(one, [other for other in self.everybody() if other != one]), (loss, 0, 0))

    # Disks

    def full(self):
        """A broker's disk has no room, until it has ended by that or some seconds are over."""
        node = self.choose("full")
        self.cluster.disks.fill(node.id)
        try:
            end = time.monotonic() + self.rng.uniform(1, 6)
            while node.is_running() and time.monotonic() < end:
                time.sleep(0.05)
        finally:
            self.cluster.disks.empty(node.id)
        # A log directory that had an error is not used again before the next start.
        self.ended += not node.is_running()
        if node.is_running():
            node.end(signal.SIGKILL, 60)
        node.start()
        time.sleep(SESSION_SECONDS)
        return True

    def stalled(self):
        """What a broker writes waits."""
        node = self.choose("stalled")
        stopped = self.cluster.disks.stop(node.id)
        try:
            time.sleep(self.rng.uniform(0.5, 6))
        finally:
            self.cluster.disks.go_on(stopped)
        return True

    def others(self, node):
        """Everybody else but clients."""
        return [other for other in self.everybody() if other not in (node.id, CLIENTS)]

    def led(self, node):
        return [partition for partition, told in self.cluster.partitions().items() if told.leader == node.id]

    def leader(self):
        """A broker that leads something."""
        brokers = self.rng.sample(self.brokers, len(self.brokers))
        return next((node for node in brokers if self.led(node)), brokers[0])


def ways(one, others):
    """Both directions of the links between one and others."""
    return [link for other in others for link in ((one, other), (other, one))]


def tell(way, node):
    print(f"chaos: {way} {node.kind} {node.id}", flush=True)


def permitted(suite, options, members, scratch):
    """The kinds of faults that there are to be, of those that were asked for or of all; the network and the disks of
    `members`, the controller first, where they are to fail.

    Of all, those that this machine does not permit are left out, which is said."""
    kinds = list(WAYS) if options.faults is None else list(dict.fromkeys(options.faults.split(",")))
    for kind in kinds:
        if kind not in WAYS:
            sys.exit(f"there are no faults of {kind!r}; there are {', '.join(WAYS)}")
    made = {}
    for kind, make in MADE_READY.items():
        if kind in kinds:
            try:
                made[kind] = make(members, options, scratch)
            except NotPermitted as why:
                if options.faults is not None:
                    sys.exit(f"no {kind} faults on this machine: {why}")
                print(f"skip {suite}.{kind}-faults 0: not permitted on this machine: {why}", flush=True)
                kinds.remove(kind)
    return kinds, made.get("network"), made.get("disk")
