"""Groups that a coordinator assigns whose members speak the classic protocol, with members that live on while
the broker changes: Thalweg's coordinator, Kafka's, and back.

In Kafka's terms such a group is a consumer group whose members are all of the classic protocol. What must
hold whoever takes over:

- Nobody loses its partitions, every group is given every record once.
- Kafka has each member that is behind the group's epoch rejoin, once: in Thalweg those that kept their
  partitions in the last rebalance are. The others notice nothing.
- Thalweg has nobody rejoin.

Members join and leave under both in between. When one leaves, Kafka makes a classic group of it, with a barrier;
that one goes back to Thalweg, too.
"""

import time

from estate import Estate
from installation import KAFKA, THALWEG, Installation, Official
from moves import CLEAN, KILL, LIVE, LOST, SIGNALS, Member
from suite import check, eventually_with, same

PARTITIONS = 4
# A group stays as it is for so long, in seconds: several heartbeats.
QUIET_SECONDS = 1.5
# How often a listener is called when its member rejoins and keeps what it has: an eager one gives it up and gets
# it back.
CALLS = {"range": 2, "roundrobin": 2, "sticky": 2, "cooperative-sticky": 1}
CLASSES = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
MAKES = {"java": CLASSES, "librdkafka": ("range", "cooperative-sticky")}
# The assignor that Kafka goes on with.
IN_KAFKA = {"range": "range", "roundrobin": "uniform", "sticky": "uniform", "cooperative-sticky": "uniform"}


class Group:
    """Members of one make with one assignor."""

    def __init__(self, case, make, assignor):
        self.case, self.make, self.assignor = case, make, assignor
        self.name = f"{make}-{assignor}"
        self.members = {}
        self.made = 0
        # What members that left had read, and the members that kept their partitions in the last rebalance.
        self.read_before = 0
        self.lagging = set()

    def join(self):
        name = f"{self.name}-{self.made}"
        self.made += 1
        if self.make == "java":
            words = ("join", name, self.name, "classic", LIVE, "-", CLASSES[self.assignor])
            self.case.official.call(" ".join(words))
            self.members[name] = None
        else:
            self.members[name] = Member(self.case.site.bootstrap, name, self.name, "classic", self.assignor)

    def leave(self):
        """The one that has been there for the longest time leaves."""
        name = next(iter(self.members))
        self.read_before += self.state()[name][0]
        member = self.members.pop(name)
        if member is None:
            self.case.official.call(f"leave {name}")
        else:
            member.leave()

    def state(self):
        """Member -> (records, records twice, calls of its listener, error)."""
        official = self.case.official.members() if self.make == "java" else {}
        found = {}
        for name, member in self.members.items():
            records, twice, calls, _, error = official[name] if member is None else member.state()
            found[name] = (records, twice, calls, error)
        return found

    def calls(self):
        return {name: state[2] for name, state in self.state().items()}


class ServerAssigned:
    """`stops`: how each broker ends, one after the other."""

    order = (THALWEG, KAFKA, THALWEG, KAFKA, THALWEG)
    stops = (CLEAN, CLEAN, KILL, KILL, CLEAN)

    def __init__(self, options, case):
        self.site = Installation(options, case, mode="server")
        self.estate = Estate(self.site.bootstrap)
        self.official = None
        self.is_consumer_group = False
        self.groups = [Group(self, make, assignor) for make, assignors in MAKES.items() for assignor in assignors]

    def steps(self):
        changes = (self.three_join, self.one_joins, self.one_leaves, self.one_leaves, self.one_joins)
        for at, (who, stop, change) in enumerate(zip(self.order, self.stops, changes), 1):
            yield f"{at}-{who}", lambda at=at, who=who, stop=stop, change=change: self.run(at, who, stop, change)

    def run(self, at, who, stop, change):
        calls = {group.name: group.calls() for group in self.groups} if at > 1 else {}
        took = self.site.start(who)
        self.is_consumer_group = who == KAFKA
        if at == 1:
            self.official = Official(self.site)
            self.estate.create(self.estate.admin(), LIVE, PARTITIONS)
        self.write(at)
        rejoined = 0
        if at > 1:
            self.settled(who)
            rejoined = sum(self.noticed(group, calls[group.name], who) for group in self.groups)
        change()
        self.write(at)
        self.settled(who)
        self.site.stop(SIGNALS[stop])
        return f"up after {took:.1f} s; {rejoined} of {sum(map(len, calls.values()))} members rejoined"

    def write(self, at):
        out = [(LIVE, p, b"k", b"%d" % at, [], 1_700_000_000_000) for p in range(PARTITIONS) for _ in range(50)]
        self.estate.send(out, "none")

    # ---- who is there ----

    def three_join(self):
        """One after the other: the third takes a partition of one, and the other keeps what it has."""
        for _ in range(2):
            for group in self.groups:
                group.join()
            self.settled(THALWEG)
        self.one_joins()

    def one_joins(self):
        self.change(Group.join)

    def one_leaves(self):
        self.change(Group.leave)

    def change(self, what):
        before = {group.name: group.calls() for group in self.groups}
        for group in self.groups:
            what(group)
        if what is Group.leave:
            # Nobody is left who speaks the other protocol, and Kafka notices.
            self.is_consumer_group = False
        self.settled(self.site.who)
        for group in self.groups:
            now = group.calls()
            # Under Kafka everybody comes to the group's epoch.
            kept = {name for name, calls in before[group.name].items() if now.get(name) == calls}
            group.lagging = kept if self.site.who == THALWEG else set()

    # ---- what must hold ----

    def noticed(self, group, before, who):
        """How many members were asked to rejoin by the one who took over."""
        rejoined = set()
        for name, calls in group.calls().items():
            more = calls - before[name]
            rejoined |= {name} if more else set()
            check(more <= CALLS[group.assignor], f"{who} called {name}'s listener {more} times")
        if who == THALWEG:
            same(f"members of {group.name} that {who} had rejoin", set(), rejoined)
        else:
            check(group.lagging, f"nobody of {group.name} was behind when {who} took over")
            same(f"members of {group.name} that {who} had rejoin", group.lagging, rejoined)
        return len(rejoined)

    def settled(self, who):
        """Every record is read once and committed, every group is stable, and nothing moves."""
        total = sum(len(self.estate.records[(LIVE, p)]) for p in range(PARTITIONS))
        last, missing = [None, 0.0], []

        def quiet():
            now = {group.name: group.state() for group in self.groups}
            if now != last[0]:
                last[:] = [now, time.monotonic()]
            missing[:] = [group.name for group in self.groups if group.members and self.read(group, now) != total]
            if missing or time.monotonic() < last[1] + QUIET_SECONDS:
                return False
            missing[:] = self.unsettled(who)
            return not missing

        eventually_with(f"groups settle under {who}", missing, quiet)
        for group in self.groups:
            for name, (_, twice, calls, error) in group.state().items():
                same(f"error of {name}", "-", error)
                same(f"records that {name} was given again", 0, twice)
                check(calls < LOST, f"{name} lost its partitions")

    @staticmethod
    def read(group, now):
        return group.read_before + sum(state[0] for state in now[group.name].values())

    def unsettled(self, who):
        """What is not as it is to be in the end: states, owners, offsets."""
        told = self.official.inventory()
        out = []
        for group in self.groups:
            if not group.members:
                continue
            lines = [line for line in told.get("member", ()) if line.startswith(f"{group.name} ")]
            start = f"{group.name} Classic Stable assignor {group.assignor} "
            if self.is_consumer_group:
                start = f"{group.name} Consumer Stable assignor {IN_KAFKA[group.assignor]} "
            if len(lines) != 1 + len(group.members) or not any(line.startswith(start) for line in lines):
                out.append(f"{who} tells {sorted(lines)} and not {start}")
            for p in range(PARTITIONS):
                end = self.estate.records[(LIVE, p)][-1][0] + 1
                start = f"{group.name} {LIVE}-{p} OffsetAndMetadata{{offset={end},"
                if not any(line.startswith(start) for line in told.get("offset", ())):
                    out.append(f"{group.name} has not committed {end} of {LIVE}-{p}")
        return out

    def end(self):
        for group in self.groups:
            for member in filter(None, group.members.values()):
                member.end()
        if self.official is not None:
            self.official.end()
        self.site.end()
