"""A switch with a link from each member to each other one, every direction of which can fail by itself.

    network_switch.py MEMBERS SEED

Each member is a network namespace with one device (TUN), whose other end is this process: what a member sends is read
here, and given to whom it is for, or lost, or kept for a while. The namespaces have no names and the devices live as
long as this process, so the kernel removes all of it when the last process is gone, however that one ends.

At the start a line tells the descriptors of the namespaces. Then every line on the standard input has the rules that
hold from now on, those of links that are not named being none: `[[FROM, TO, LOSS, DELAY_MS, JITTER_MS], ...]`. It is
answered by what became of packets since the line before: `{"passed": N, "lost": N, "delayed": N, "overflown": N}`. The
end of the input is the end of this.

Packets of a link keep their order. What waits is limited; more is lost, as in any switch.
"""

import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time

CLONE_NEWNET = 0x4000_0000
NETWORK = "10.77.0"
DEVICE = b"cluster"
TUN = "/dev/net/tun"
# The more bytes a packet has, the fewer of them this has to carry. A lost one is still one of many.
MTU = 9_000
READ_AT_ONCE = 64
WAITING_MAX = 20_000
# Of linux/if_tun.h and linux/sockios.h.
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x4004_54CA, 0x0001, 0x1000
SIOCSIFADDR, SIOCSIFNETMASK, SIOCSIFFLAGS, SIOCSIFMTU = 0x8916, 0x891C, 0x8914, 0x8922
IFF_UP = 1


def call(function, *args):
    """A function of libc that Python has from 3.12 on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")


def address(member):
    return f"{NETWORK}.{member + 1}"


def configure(member):
    """Makes a namespace with its device: the descriptor of the namespace, and that of the device."""
    call("unshare", CLONE_NEWNET)
    namespace = os.open("/proc/self/ns/net", os.O_RDONLY)
    device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", DEVICE, IFF_TUN | IFF_NO_PI))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:

        def put(name, request, value):
            fcntl.ioctl(one, request, struct.pack("16s24s", name, value))

        def ip(text):
            return struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(text))

        put(DEVICE, SIOCSIFMTU, struct.pack("=i", MTU))
        put(DEVICE, SIOCSIFADDR, ip(address(member)))
        put(DEVICE, SIOCSIFNETMASK, ip("255.255.255.0"))
        put(DEVICE, SIOCSIFFLAGS, struct.pack("=H", IFF_UP))
        put(b"lo", SIOCSIFFLAGS, struct.pack("=H", IFF_UP))
    return namespace, device


class Link:
    """One direction between two members, while something is wrong with it."""

    def __init__(self, loss, delay_ms, jitter_ms):
        self.loss, self.delay, self.jitter = loss, delay_ms / 1000, jitter_ms / 1000


class Switch:
    def __init__(self, devices, seed):
        self.devices = devices
        self.members = {device: member for member, device in enumerate(devices)}
        self.prefix = socket.inet_aton(address(0))[:3]
        self.rng = random.Random(seed)
        self.links = {}
        # When the last packet of a link leaves, and its number, while any of it waits: no later one may leave before.
        self.last = {}
        self.waiting = []
        self.number = 0
        self.begin()

    def begin(self):
        self.counts = {"passed": 0, "lost": 0, "delayed": 0, "overflown": 0}

    def rule(self, rules):
        """Takes rules over; tells what was counted with those before."""
        self.links = {(origin, to): Link(*rule) for origin, to, *rule in rules}
        told = self.counts
        self.begin()
        return told

    def take(self, device):
        """Reads what a member has sent."""
        origin = self.members[device]
        for _ in range(READ_AT_ONCE):
            try:
                packet = os.read(device, MTU)
            except BlockingIOError:
                return
            # Neighbour discovery of IPv6 and the like have no receiver here.
            if packet[0] >> 4 == 4 and packet[16:19] == self.prefix and 0 < packet[19] <= len(self.devices):
                self.carry((origin, packet[19] - 1), packet)

    def carry(self, way, packet):
        link, last = self.links.get(way), self.last.get(way)
        if link is not None and self.rng.random() < link.loss:
            self.counts["lost"] += 1
            return
        if link is None and last is None:
            self.give(way[1], packet)
            return
        now = time.monotonic()
        due = now if link is None else now + link.delay + self.rng.uniform(0, link.jitter)
        if last is None and due <= now:
            self.give(way[1], packet)
        else:
            self.keep(way, max(due, last[0] if last else 0), packet)

    def keep(self, way, due, packet):
        if len(self.waiting) >= WAITING_MAX:
            self.counts["overflown"] += 1
            return
        self.number += 1
        self.last[way] = due, self.number
        self.counts["delayed"] += 1
        heapq.heappush(self.waiting, (due, self.number, way, packet))

    def give(self, to, packet):
        os.write(self.devices[to], packet)
        self.counts["passed"] += 1

    def release(self):
        """Gives what has waited long enough; tells for how many milliseconds the next one waits."""
        while self.waiting:
            wait = self.waiting[0][0] - time.monotonic()
            if wait > 0:
                return wait * 1000
            due, number, way, packet = heapq.heappop(self.waiting)
            if self.last[way] == (due, number):
                del self.last[way]
            self.give(way[1], packet)
        return None


def main():
    members, seed = map(int, sys.argv[1:])
    # Who interrupts the run wants its end, which closes the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        made = [configure(member) for member in range(members)]
    except OSError as error:
        print(json.dumps({"error": f"{error}"}), flush=True)
        return
    switch = Switch([device for _, device in made], seed)
    print(json.dumps({"namespaces": [namespace for namespace, _ in made]}), flush=True)
    poller = select.poll()
    for _, device in made:
        poller.register(device, select.POLLIN)
    rules = sys.stdin.fileno()
    poller.register(rules, select.POLLIN)
    wait = None
    while True:
        ready = [descriptor for descriptor, _ in poller.poll(wait)]
        for device in ready:
            if device != rules:
                switch.take(device)
        if rules in ready:
            line = sys.stdin.readline()
            if not line:
                return
            print(json.dumps(switch.rule(json.loads(line))), flush=True)
        wait = switch.release()


if __name__ == "__main__":
    main()
