"""What must hold of a consumer group, from what its members told (`group_worker.py`).

- An acknowledged commit is never overtaken: who gets a partition next begins at it or behind it, and what is
  acknowledged after that is not smaller.
- Nobody's commit is acknowledged that was sent after somebody else got the partition.
- A member reads a partition without gaps and without repeating itself.
- Two members that run do not work on a partition at the same time. A process that was stopped for longer
  than its session is excused until it hears that it has lost its partitions.
- Every record that was produced is processed, and what is committed in the end says so.
- Where the coordinator assigns, a member that keeps all of its partitions is not told of a rebalance.
"""

import collections
import dataclasses

# How long a member may believe in its partitions after a pause in which its session ended.
EXCUSED_US = 6_000_000
# Clients each of whose members joins again when it sees that a topic has grown (with others only the leader
# does), and how long after that they may see it.
ASK_AGAIN = ("confluent", "kafkajs")
SEEN_US = 3_500_000
# Part of the session that a pause may last without ending it.
SAFE_PART = 0.6


@dataclasses.dataclass
class Holding:
    """One member's time with one partition."""

    life: object
    partition: str
    begin: int
    end: int = None
    how: str = "goes on"
    batches: list = dataclasses.field(default_factory=list)
    commits: list = dataclasses.field(default_factory=list)
    # What it was about to commit. Of a process that was killed, and of a client that was closed, nobody
    # knows the answer.
    sent: list = dataclasses.field(default_factory=list)
    # Times at which it may be gone without knowing it.
    excuses: list = dataclasses.field(default_factory=list)

    @property
    def who(self):
        return f"{self.life.client} {self.life.name}"

    def is_excused(self, begin, end):
        return any(begin < until and since < end for since, until in self.excuses)

    def highest_acknowledged(self):
        return max((c["o"][self.partition] for c in self.commits if c["ok"]), default=None)

    def highest_sent(self):
        return max(self.sent, default=None)


def pauses(life, session_us):
    """The times that excuse a member: pauses that its session may have ended in, and some time after."""
    out = []
    for begin, end in life.pauses:
        if end is None or end - begin > session_us * SAFE_PART:
            out.append((begin, (end or 1 << 62) + EXCUSED_US))
    return out


def holdings(life, session_us, faults):
    """What a process held, in order; events of partitions that it does not hold are faults."""
    out, current = [], {}
    excuses = pauses(life, session_us)

    def close(partition, at, how):
        holding = current.pop(partition, None)
        if holding is not None:
            holding.end, holding.how = at, how

    for event in life.events:
        what, at = event["e"], event["t"]
        if what == "assigned":
            for partition in event["p"]:
                # Some clients tell all that they have, again.
                if partition not in current:
                    current[partition] = Holding(life, partition, at, excuses=excuses)
                    out.append(current[partition])
        elif what in ("revoked", "lost"):
            for partition in event["p"]:
                close(partition, at, what)
        elif what == "batch":
            holding = current.get(event["p"])
            if holding is None:
                who = f"{life.client} {life.name}"
                faults.append(f"{who} processes {event['p']} {event['from']}..{event['to']} without having it")
            else:
                holding.batches.append(event)
        elif what == "sent":
            for partition, offset in event["o"].items():
                if partition in current:
                    current[partition].sent.append(offset)
        elif what == "commit":
            for partition in event["o"]:
                # An answer may come after the member gave the partition up: it is of the last time it had it.
                own = [h for h in out if h.partition == partition and h.begin <= event["t0"]]
                if own:
                    own[-1].commits.append(event)
                else:
                    faults.append(f"{life.client} {life.name} commits {partition}, which it never had")
    for partition in list(current):
        close(partition, life.killed or life.ended or 1 << 62, "death" if life.killed else "end")
    return out


def without_gaps(holding, faults):
    """Within one holding a record comes once, in order."""
    expected = None
    for batch in holding.batches:
        if expected is not None and batch["from"] != expected:
            faults.append(f"{holding.who} reads {holding.partition} from {batch['from']}, not from {expected}")
        expected = batch["to"] + 1


def in_turn(partition, held, faults):
    """The rules of those who have a partition one after the other."""
    held = sorted(held, key=lambda holding: holding.begin)
    for index, later in enumerate(held):
        if not later.batches:
            continue
        first = later.batches[0]["from"]
        begun, sender = 0, None
        sent = 0
        for earlier in held[:index]:
            acknowledged = earlier.highest_acknowledged()
            if acknowledged is not None and acknowledged > begun:
                begun, sender = acknowledged, earlier
            sent = max(sent, earlier.highest_sent() or 0)
        if first < begun:
            faults.append(
                f"{partition}: {later.who}, assigned at {later.begin}, begins at {first}, and "
                f"{begun} was acknowledged to {sender.who} before, who had it from {sender.begin}"
            )
        if first > sent:
            faults.append(f"{partition}: {later.who} begins at {first}, and nobody committed more than {sent}")
    for index, later in enumerate(held):
        for earlier in held[:index]:
            if earlier.life is later.life:
                continue
            for commit in earlier.commits:
                if commit["ok"] and commit["t0"] > later.begin:
                    faults.append(
                        f"{partition}: {earlier.who} has {commit['o'][partition]} acknowledged (sent at "
                        f"{commit['t0']}, generation {commit.get('gen')}) after {later.who} got it at {later.begin}"
                    )
            alone(partition, earlier, later, faults)


def alone(partition, earlier, later, faults):
    """Two members do not work on a partition at the same time."""
    for batch in earlier.batches:
        if batch["t"] <= later.begin or earlier.is_excused(batch["t0"], batch["t"]):
            continue
        other = next((b for b in later.batches if b["t0"] < batch["t"] and batch["t0"] < b["t"]), None)
        if batch["t0"] > later.begin or other is not None:
            also = f"works on {other['from']}..{other['to']} meanwhile" if other else f"got it at {later.begin}"
            faults.append(
                f"{partition}: {earlier.who} works on {batch['from']}..{batch['to']} from {batch['t0']} to "
                f"{batch['t']}, and {later.who} {also}"
            )
            return


def acknowledged_in_order(partition, held, faults):
    """A commit that was sent after another was acknowledged is not smaller."""
    commits = [(c, h) for h in held for c in h.commits if c["ok"]]
    by_answer = sorted(commits, key=lambda pair: pair[0]["t"])
    by_sending = sorted(commits, key=lambda pair: pair[0]["t0"])
    highest, at = (0, None), 0
    for commit, holding in by_sending:
        while at < len(by_answer) and by_answer[at][0]["t"] < commit["t0"]:
            answered = by_answer[at]
            highest = max(highest, (answered[0]["o"][partition], answered[1]), key=lambda pair: pair[0])
            at += 1
        offset = commit["o"][partition]
        if offset < highest[0]:
            faults.append(
                f"{partition}: {holding.who} has {offset} acknowledged (sent at {commit['t0']}, generation "
                f"{commit.get('gen')}) after {highest[0]} was to {highest[1].who}"
            )


def everything(partition, held, count, committed, faults):
    """All records of a partition were processed."""
    seen = bytearray(count)
    for holding in held:
        for batch in holding.batches:
            if batch["to"] >= count:
                faults.append(f"{holding.who} reads {partition} {batch['to']}, and there are {count} records")
            for offset in range(batch["from"], min(batch["to"] + 1, count)):
                seen[offset] = 1
    missing = seen.find(0)
    if missing >= 0:
        faults.append(f"{partition}: nobody processed {missing}, and there are {count} records")
    if committed != count:
        faults.append(f"{partition}: {committed} is committed in the end, and there are {count} records")


def never_backwards(watched, faults):
    """`watched` has (when, offsets by partition), as they were read."""
    before = {}
    for at, offsets in watched:
        for partition, offset in offsets.items():
            if offset < before.get(partition, 0):
                faults.append(f"{partition}: {offset} is committed at {at}, and {before[partition]} was before")
            before[partition] = offset


@dataclasses.dataclass
class Turn:
    """A rebalance as one member saw it."""

    life: object
    begin: int
    end: int
    kind: str

    @property
    def stood_us(self):
        return self.end - self.begin


def turns(life, session_us, grown=()):
    """The rebalances of a process, each as what it did to the member: the `first`; `kept`, it was told and
    came back with what it had; `gained`, it has that and more; `moved`, it gave something up; `settled`, it
    joined again because of that, as cooperative clients do; `asked`, it saw that a topic has grown and joined
    again of its own accord; `fenced`, the group went on without it; `idle`, it had nothing and got nothing.
    `grown` has the times at which topics grew."""
    out = []
    owned, before, begun, kind = set(), None, None, None
    excuses = pauses(life, session_us)
    limit = min(t for t in (life.told_to_leave, life.killed, 1 << 62) if t is not None)
    gave = False
    for event in life.events:
        what, at = event["e"], event["t"]
        if at > limit:
            break
        if what in ("revoked", "lost"):
            if before is None:
                before, begun = set(owned), at
            gave = True
            owned -= set(event["p"])
            if what == "lost":
                kind = "fenced"
            elif life.incremental:
                # What it keeps it goes on with; whether it is told again at once depends on the client.
                if event["p"]:
                    out.append(Turn(life, at, at, "moved"))
                before = None
        elif what == "assigned":
            if before is None:
                before, begun = set(owned), at
            after = owned | set(event["p"])
            is_rest = life.incremental and gave and kind is None and not event["p"]
            if not out:
                kind = "first"
            elif kind is None and any(since < at < until for since, until in excuses):
                kind = "fenced"
            elif kind is None:
                kind = "kept" if after == before else "gained" if after > before else "moved"
                if kind == "kept" and life.incremental and out[-1].kind == "moved":
                    # It joined again because it gave something up.
                    kind = "settled"
                if kind == "kept" and life.client in ASK_AGAIN:
                    if any(since < begun < since + SEEN_US for since in grown):
                        kind = "asked"
                if kind == "kept" and not after:
                    kind = "idle"
            if not is_rest:
                out.append(Turn(life, begun, at, kind))
            owned, before, begun, kind, gave = after, None, None, None, False
    return out


def untouched(lives, session_us, grown, faults):
    """Where the coordinator assigns, nobody is told to rebalance who keeps what he has."""
    for life in lives:
        for turn in turns(life, session_us, grown):
            if turn.kind == "kept":
                faults.append(f"{life.client} {life.name} rebalances at {turn.begin} and keeps all that it has")


def summary(lives, session_us, grown=()):
    """Rebalances by client and kind, and for how long members stood still that kept what they had."""
    counts = collections.defaultdict(collections.Counter)
    for life in lives:
        for turn in turns(life, session_us, grown):
            counts[life.client][turn.kind] += 1
            counts[life.client]["stood_ms"] += turn.stood_us // 1000
    return counts
