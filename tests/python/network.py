"""The network of a cluster's processes, each of which has a namespace of its own, so that what one of them sends to
another one can be lost or late, while everything else arrives. `network_switch.py` carries it.

It needs the right to make network namespaces, as root or in a user namespace of one's own, and /dev/net/tun.
"""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys

from network_switch import CLONE_NEWNET, TUN, address, call

CLONE_NEWUSER = 0x1000_0000
CLIENTS = "clients"


class NotPermitted(Exception):
    """Why this machine has no such network."""


class Network:
    """A switch, and who is joined to it; this process is, with all of its threads, the member `CLIENTS`."""

    def __init__(self, members, seed):
        """Call it before any thread is started: threads stay in the namespace that they are in."""
        self.members = [CLIENTS, *members]
        check_permissions()
        become_root()
        self.switch = subprocess.Popen(
            [sys.executable, pathlib.Path(__file__).with_name("network_switch.py"), str(len(self.members)), str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        told = self.answer()
        if "error" in told:
            self.close()
            raise NotPermitted(told["error"])
        self.namespaces = [f"/proc/{self.switch.pid}/fd/{descriptor}" for descriptor in told["namespaces"]]
        enter(self.namespaces[0])

    def answer(self):
        line = self.switch.stdout.readline()
        if not line:
            raise AssertionError(f"the switch has ended with {self.switch.wait()}")
        return json.loads(line)

    def host(self, member):
        return address(self.members.index(member))

    def command(self, member, command):
        """The command in a member's namespace; the process stays the same."""
        return ["nsenter", f"--net={self.namespaces[self.members.index(member)]}", *command]

    def rule(self, links):
        """From now on these links fail, and no others: `(from, to)` and loss, and milliseconds of delay and of jitter.
        Tells what became of packets by the rules before."""
        at = self.members.index
        rules = [[at(origin), at(to), *rule] for (origin, to), rule in links.items()]
        self.switch.stdin.write(json.dumps(rules) + "\n")
        self.switch.stdin.flush()
        return self.answer()

    def heal(self):
        return self.rule({})

    def close(self):
        self.switch.stdin.close()
        self.switch.wait()


def check_permissions():
    """What can be known beforehand, before this process becomes something else."""
    if not os.access(TUN, os.R_OK | os.W_OK):
        raise NotPermitted(f"{TUN} cannot be opened")
    if shutil.which("nsenter") is None:
        raise NotPermitted("there is no nsenter (util-linux)")


def become_root():
    """Makes this process root of a user namespace of its own, if it is not root."""
    if os.geteuid() == 0:
        return
    user, group = os.geteuid(), os.getegid()
    try:
        call("unshare", CLONE_NEWUSER)
        for file, text in [("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")]:
            pathlib.Path("/proc/self", file).write_text(text)
    except OSError as error:
        raise NotPermitted(f"a user namespace: {error}") from error


def enter(namespace):
    descriptor = os.open(namespace, os.O_RDONLY)
    try:
        call("setns", ctypes.c_int(descriptor), CLONE_NEWNET)
    finally:
        os.close(descriptor)
