"""A bank, while brokers of both makes and its tellers fail: no money is lost, and none comes from nowhere.

    bank.py --binary THALWEG --jars FOLDER --scratch FOLDER --teller PROGRAM [--minutes N] [--seed N]
            [--faults process,network,disk]

A transfer takes an amount from one account and gives it to another. Tellers of a group, of librdkafka and of Thalweg's
client, make two postings of each, in the partitions of the two accounts, in one transaction with the offset of the transfer
(KIP-447). Tellers are killed, come and go. At the end readers of committed records find both postings of every
transfer, each once, and every account with what it should have.
"""

import collections
import signal
import subprocess
import sys

import exactly_once
from chaos import SETTLE_SECONDS, check, same
from copier import Copier

ACCOUNTS = 60
# Of Thalweg's client, beside those of librdkafka.
PROCESSES = 2


def transfer(partition, number):
    """From, to and how much."""
    mixed = (number * 2_654_435_761 + partition * 40_503) % 2**32
    source = mixed % ACCOUNTS
    sink = (source + 1 + mixed // ACCOUNTS % (ACCOUNTS - 1)) % ACCOUNTS
    return source, sink, 1 + mixed % 997


class Transfers(exactly_once.Writer):
    def value(self, partition, number):
        source, sink, amount = transfer(partition, number)
        return f"{partition}.{number} {source} {sink} {amount}"


class Teller(Copier):
    def pass_on(self, producer, message):
        name, source, sink, amount = message.value().decode().split()
        for account, change in [(source, f"-{amount}"), (sink, amount)]:
            producer.produce(self.sink, f"{name} {account} {change}", key=account)


class Process:
    """A teller of Thalweg's client."""

    def __init__(self, program, cluster, at):
        self.command = [program, cluster.bootstrap, "copiers", "in", "out", f"teller-{at}"]
        self.path = cluster.scratch / f"teller-{at}.log"
        self.log = self.path.open("ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)

    def is_running(self):
        return self.process.poll() is None

    def transfers(self):
        """What it has told when it left."""
        lines = self.path.read_text().splitlines()
        return sum(int(line.split()[0]) for line in lines if line.endswith(" transfers"))

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(SETTLE_SECONDS)


class Bank(exactly_once.Run):
    NAME, CASE = "bank", "money-conserved"

    def begin(self):
        self.writer = Transfers(self.cluster)
        self.copiers = [self.copier("librdkafka-teller", self.options.seed)]
        for thread in [self.writer, *self.copiers]:
            thread.start()
        self.processes = [Process(self.options.teller, self.cluster, at) for at in range(PROCESSES)]
        self.ended = collections.Counter()

    def copier(self, name, seed):
        return Teller(self.cluster.bootstrap, name, seed)

    def meanwhile(self):
        super().meanwhile()
        for process in self.processes:
            check(process.is_running(), f"a teller has ended by itself: see {process.log.name}")
        # One is killed, or leaves: the others have its partitions, or it has them again.
        one = self.rng.choice(self.processes)
        number = self.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        code = one.end(number)
        check(number == signal.SIGKILL or code == 0, f"a teller left with {code}: see {one.log.name}")
        self.ended[f"teller {number.name}"] += 1
        one.start()

    def finish(self):
        super().finish()
        for process in self.processes:
            same("how a teller leaves", 0, process.end(signal.SIGTERM))
        told = sum(process.transfers() for process in self.processes)
        check(told, "no teller of Thalweg's client has done anything when it left")
        self.ended["transfers of tellers that left"] = told

    def end(self):
        for process in getattr(self, "processes", []):
            process.process.kill()

    def counts(self):
        return super().counts() | dict(self.ended)

    def verify(self, written):
        wanted, balances = collections.Counter(), collections.Counter()
        for partition, sent in enumerate(self.writer.sent):
            for number in range(sent):
                source, sink, amount = transfer(partition, number)
                for account, change in [(source, -amount), (sink, amount)]:
                    wanted[f"{partition}.{number} {account} {change}"] += 1
                    balances[account] += change
        found, kept = collections.Counter(), collections.Counter()
        for values in written:
            found.update(values)
            for value in values:
                _, account, change = value.split()
                kept[int(account)] += int(change)
        missing, more = wanted - found, found - wanted
        check(not missing and not more, f"{missing.total()} postings are missing, {more.total()} are too many: "
              f"{list(missing)[:3]}, {list(more)[:3]}")  # fmt: skip
        same("all the money", 0, sum(kept.values()))
        same("balances", dict(balances), dict(kept))


if __name__ == "__main__":
    parser = exactly_once.options()
    parser.add_argument("--teller", required=True)
    sys.exit(exactly_once.main(parser, Bank))
