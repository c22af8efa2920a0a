"""What must hold when an application has made its transactions, whatever was killed meanwhile."""

from suite import check, same

TRANSACTIONS = 3
# The one that the application aborts.
ABORTED = 1
# Where the group is before each transaction, and after the last.
OFFSETS = [0, 1, 1, 3]


def verify(values, committed, aborted):
    """`values` is what readers of committed records find in each partition: transaction.attempt. One attempt of each
    transaction is in all partitions, in order, and the one that the application was told of if it was told; none
    of those that are in `aborted`, and none of the transaction that the application aborts."""
    for partition, found in enumerate(values):
        same(f"what partition {partition} has beside the first", values[0], found)
        numbers = [int(value.split(".")[0]) for value in found]
        same(f"transactions in partition {partition}: {found}", [n for n in range(TRANSACTIONS) if n != ABORTED], numbers)
        for number, attempt in committed.items():
            check(attempt in found, f"transaction {number} was told to be committed as {attempt}; there are {found}")
        ghosts = [attempt for attempt in aborted if attempt in found]
        check(not ghosts, f"of {aborted}, which are aborted, {ghosts} are there: {found}")
