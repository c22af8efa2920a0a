"""The groups of the group soak, and what happens to them: who is in them, and when who is killed, paused,
stopped and started, and when topics grow. All of it follows from the seed.
"""

import dataclasses

CLASSIC, CONSUMER = "classic", "consumer"


@dataclasses.dataclass(frozen=True)
class Seat:
    """A member: its client, the assignors that it offers, its protocol."""

    client: str
    assignors: str
    protocol: str = CLASSIC
    is_static: bool = False


def seats(assignors, *clients, is_static=False):
    return [Seat(client, assignors, is_static=is_static) for client in clients]


# Not every client has every assignor.
GROUPS = {
    "range": seats(
        "range", "java", "java", "confluent", "confluent", "kafka_python", "aiokafka", "franz", "sarama",
        "thalweg",
    ),
    "cooperative": seats(
        "cooperative-sticky", "java", "java", "java", "confluent", "confluent", "kafka_python", "franz", "franz",
        "thalweg", "thalweg",
    ),
    "roundrobin": seats(
        "roundrobin", "java", "confluent", "kafka_python", "aiokafka", "kafkajs", "kafkajs", "franz", "sarama",
        "thalweg",
    ),
    "sticky": seats(
        "sticky", "java", "java", "kafka_python", "kafka_python", "aiokafka", "franz", "sarama", "thalweg"
    ),
    # The only one that all of them have is range.
    "common": [
        Seat("java", "sticky,range"),
        Seat("java", "range,roundrobin"),
        Seat("confluent", "roundrobin,range"),
        Seat("kafka_python", "range,sticky"),
        # With more than one it joins once for each, and the first time without those that follow.
        Seat("aiokafka", "range"),
        Seat("franz", "range"),
        Seat("thalweg", "cooperative-sticky,range"),
    ],
    # Kafka's own rules: classic members among those of the consumer protocol.
    "protocols": [
        Seat("java", "", CONSUMER),
        Seat("java", "", CONSUMER),
        Seat("confluent", "", CONSUMER),
        Seat("thalweg", "", CONSUMER),
        Seat("thalweg", "", CONSUMER),
        Seat("java", "range"),
        Seat("confluent", "range"),
        Seat("kafka_python", "range"),
        Seat("franz", "range"),
    ],
    # Their places are kept for as long as a session lasts, also if they stop: a static member does not leave.
    "static": [
        *seats("range", "java", "confluent", "kafka_python", "aiokafka", "franz", "sarama", "thalweg", is_static=True),
        Seat("java", "range"),
        Seat("thalweg", "range"),
    ],
    # Its own assignor, which the coordinator does not have: these join at a barrier in both modes.
    "own-assignor": seats("own", "kafkajs", "kafkajs", "kafkajs"),
}
# Those that the coordinator assigns in mode `server`.
ASSIGNED_BY_SERVER = {"range", "cooperative", "roundrobin", "sticky", "common", "static"}
# The order of a soak; the seed says where it begins.
ORDER = ["range", "cooperative", "roundrobin", "protocols", "sticky", "common", "static", "own-assignor"]


@dataclasses.dataclass(frozen=True)
class Deed:
    """Something that is done at a moment, to a member or to a topic."""

    at: float
    what: str
    whom: int
    seconds: float = 0.0


def broker_deaths(rng, seconds):
    """When the broker is killed or stopped, and started at once."""
    out, at = [], rng.uniform(2, 6)
    while at < seconds:
        out.append(Deed(at, rng.choice(["broker-kill", "broker-stop"]), 0))
        at += rng.uniform(5, 10)
    return out


def switches(rng, seconds):
    """When the group's rebalance mode changes, from one to the other and back."""
    out, at = [], rng.uniform(2, 5)
    while at < seconds:
        out.append(Deed(at, "switch", 0))
        at += rng.choice([rng.uniform(0.1, 1), rng.uniform(3, 8)])
    return out


def plan(rng, members, seconds, session):
    """What is done to `members` members in so many seconds. One that is paused or away is left alone, and two
    members at least are always untouched."""
    out, busy, grown = [], {}, 0
    at = 1.0
    while at < seconds:
        free = [m for m in range(members) if busy.get(m, 0) <= at]
        what = rng.choice(["kill", "kill", "leave", "short", "short", "long", "grow", "quiet"])
        if what == "grow":
            if grown < 4:
                grown += 1
                out.append(Deed(at, "grow", rng.randrange(2), rng.randint(1, 3)))
        elif what != "quiet" and len(free) > 2:
            whom = rng.choice(free)
            if what == "short":
                lasts = rng.uniform(0.2, 0.45 * session)
            elif what == "long":
                lasts = session * rng.uniform(1.3, 1.8)
            else:
                lasts = rng.choice([0.0, 0.5, session * 1.2])
            out.append(Deed(at, what, whom, lasts))
            # What it needs to be itself again.
            busy[whom] = at + lasts + session * 1.5
        at += rng.choice([0.1, 0.5, 1.5, 3.0]) * rng.uniform(0.7, 1.3)
    return out
