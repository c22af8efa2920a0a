"""What the workers of the group soak in Python share: one member of a consumer group that tells on its
standard output, a JSON object a line, what becomes of it.

    group_worker_CLIENT.py NAME=VALUE...

with `bootstrap`, `group`, `name`, `topics` and `assignors` (lists, by commas), `protocol` (classic or
consumer), `session_ms`, `heartbeat_ms`, `rebalance_ms`, `metadata_ms`, `commit` (sync or async),
`commit_ms`, and `work_us`, how long a record takes; `instance` is the id of a static member, if there is one.
The workers in other languages have the same arguments and lines. It leaves the group and ends when its
standard input does; a line there is the list of topics that it subscribes to from then on, which librdkafka's
worker, Java's and ours can.

Every line has `e`, what happened, and `t`, when: microseconds of the monotonic clock.

- `ready`: it runs.
- `assigned`, `revoked`, `lost`: `p`, the partitions, as `topic-number`.
- `batch`: records `from` to `to` of partition `p` were processed, from `t0` to `t`.
- `sent`: it is about to commit offsets `o`. Some answers are never told, as when a client is closed.
- `commit`: offsets `o` by partition were sent at `t0` and answered at `t`; `ok` is null where the client
  does not tell, `why` says what went wrong, `gen` is the generation where the client tells.
- `error`: something that the application is told and can only note.
- `left`: it has left the group.
"""

import json
import os
import sys
import threading
import time

NUMBERS = ("session_ms", "heartbeat_ms", "rebalance_ms", "metadata_ms", "commit_ms", "work_us")


def now():
    return time.monotonic_ns() // 1000


class Worker:
    """What a member owns, where it is, and what it has not committed."""

    def __init__(self):
        given = dict(word.split("=", 1) for word in sys.argv[1:])
        for name, value in given.items():
            setattr(self, name, int(value) if name in NUMBERS else value)
        # Of a static member.
        self.instance = given.get("instance") or None
        self.topic_names = given["topics"].split(",")
        # What it is to subscribe to now.
        self.topics_to_come = None
        self.assignor_names = given["assignors"].split(",")
        self.stopping = threading.Event()
        self.owned = set()
        # Where it is in what it owns, and what of that is to be committed.
        self.at = {}
        self.dirty = {}
        self.committed_at = time.monotonic()
        self._lock = threading.Lock()
        threading.Thread(target=self._wait_for_end, daemon=True).start()
        self.tell("ready")

    def _wait_for_end(self):
        for line in sys.stdin:
            self.topics_to_come = line.strip().split(",")
        self.stopping.set()

    def tell(self, event, **more):
        line = json.dumps({"e": event, "t": now(), **more}, separators=(",", ":"))
        with self._lock:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    # ---- what the client says ----

    def assigned(self, names):
        self.owned |= set(names)
        self.tell("assigned", p=sorted(names))

    def gone(self, what, names):
        """What was not committed by now is somebody else's."""
        for name in names:
            self.at.pop(name, None)
            self.dirty.pop(name, None)
        self.owned -= set(names)
        self.tell(what, p=sorted(names))

    # ---- what the application does ----

    def processed(self, name, offsets, start):
        """After the work on records that follow each other."""
        first = last = offsets[0]
        for offset in offsets[1:]:
            if offset != last + 1:
                self.tell("batch", p=name, **{"from": first}, to=last, t0=start)
                first = offset
            last = offset
        self.tell("batch", p=name, **{"from": first}, to=last, t0=start)
        self.at[name] = self.dirty[name] = last + 1

    def work_seconds(self, count):
        return count * self.work_us / 1e6

    def is_due(self):
        return self.dirty and time.monotonic() - self.committed_at > self.commit_ms / 1000

    def take_dirty(self, names=None):
        """What is to be committed; it counts as committed unless that fails."""
        chosen = {n: o for n, o in self.dirty.items() if names is None or n in names}
        for name in chosen:
            del self.dirty[name]
        self.committed_at = time.monotonic()
        if chosen:
            self.tell("sent", o=chosen)
        return chosen

    def committed(self, offsets, start, error=None, gen=None):
        more = {} if error is None else {"why": error}
        if gen is not None:
            more["gen"] = gen
        self.tell("commit", ok=error is None, o=offsets, t0=start, **more)
        if error is not None:
            # What was refused may be from before a rebalance: only where it is now may be committed.
            self.dirty |= {name: self.at[name] for name in offsets if name in self.at}

    def end(self):
        self.tell("left")
        # Threads of the client must not keep a member alive that has left.
        os._exit(0)


def brief(error):
    return " ".join(f"{type(error).__name__} {error}".split())[:200]


def split(name):
    topic, number = name.rsplit("-", 1)
    return topic, int(number)
