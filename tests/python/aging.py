"""Retention: what of a topic is left when its time or its size is over.

Segments hold five batches of the same size each, so that it is known which of them go. Both brokers
must delete the same; the directory then moves on with files that are marked as deleted.
"""

import random
import time

from confluent_kafka.admin import ResourceType

from suite import eventually_with

BATCH_BYTES = 200_000
SEGMENT_RECORDS = 5
HOUR_MS = 3_600_000
WEEK_MS = 168 * HOUR_MS

# Topic: configs, ages of its records in milliseconds, and the first offset in the end.
CASES = {
    # All of it, the segment that is written to as well.
    "expired": ({"retention.ms": "1000"}, [HOUR_MS] * 8, 8),
    # A week is the default. A young record behind old ones begins a new segment, by segment.ms, and keeps those after it.
    "default": ({"retention.ms": None}, [WEEK_MS + HOUR_MS] * 7 + [0] + [WEEK_MS + HOUR_MS] * 4, 7),
    # In one segment with them it keeps all of them: the largest timestamp of a segment counts.
    "mixed": (
        {"retention.ms": str(WEEK_MS), "segment.ms": str(WEEK_MS * 50)},
        [WEEK_MS + HOUR_MS] * 7 + [0] + [WEEK_MS + HOUR_MS] * 4,
        SEGMENT_RECORDS,
    ),
    # A young segment keeps the old ones behind it.
    "shielded": ({"retention.ms": str(WEEK_MS)}, [0] * 5 + [WEEK_MS + HOUR_MS] * 7, 0),
    # Segments go while what is left is still as large as it may be.
    "sized": ({"retention.ms": "-1", "retention.bytes": "2200000"}, [WEEK_MS * 9] * 21, 2 * SEGMENT_RECORDS),
    # Nothing of the segment that is written to.
    "small": ({"retention.ms": "-1", "retention.bytes": "1"}, [0] * 12, 2 * SEGMENT_RECORDS),
    "kept": ({"retention.ms": "-1"}, [WEEK_MS * 60] * 7, 0),
    "compacted": ({"retention.ms": "1000", "cleanup.policy": "compact"}, [HOUR_MS] * 7, 0),
}


def let_age(estate, step):
    """Makes the topics, waits for what retention leaves of them, and puts that into the book."""
    admin = estate.admin()
    rng = random.Random(step)
    now = int(time.time() * 1000)
    out = []
    for what, (configs, ages, _) in CASES.items():
        # Nothing goes before everything is there, so that segments are whole.
        wide = {**configs, "max.message.bytes": "2000000", "retention.ms": "-1", "retention.bytes": "-1"}
        estate.create(admin, f"{what}-{step}", 1, wide)
        estate.resting.add(f"{what}-{step}")
        out += [
            (f"{what}-{step}", 0, b"%d" % i, rng.randbytes(BATCH_BYTES), [], now - age) for i, age in enumerate(ages)
        ]
    # One record in each batch.
    estate.send(out, "none", **{"batch.num.messages": 1})
    for what, (configs, _, _) in CASES.items():
        estate.alter(admin, ResourceType.TOPIC, f"{what}-{step}", configs)
    reader = estate.consumer()
    for what, (_, _, first) in CASES.items():
        place = (f"{what}-{step}", 0)
        low = []

        def left(place=place, first=first, low=low):
            low[:] = [estate.start_of(reader, place)]
            return low == [first]

        eventually_with(f"{place[0]} begins at {first}", low, left)
        estate.starts[place] = first
        estate.records[place] = [one for one in estate.records[place] if one[0] >= first]
    reader.close()
