"""Disks of a cluster's brokers that can be filled up, or stop answering for a while: each a file system of its own in a
file, mounted where only this process and its children see it, so that the kernel takes all of it away with the last of
them. It needs the rights of root.

    disks.py FOLDER

stops the file system of a folder until the input ends, whatever happens to who asked for that: what waits for such a
file system cannot be killed, and is there until it goes on.
"""

import ctypes
import errno
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from network import NotPermitted
from network_switch import call

# Files have holes: this is what can be used, not what is.
SIZE_BYTES = 8 << 30
CLONE_NEWNS = 0x0002_0000
# Of linux/mount.h and linux/fs.h.
MS_REC, MS_PRIVATE = 0x4000, 0x4_0000
FIFREEZE, FITHAW = 0xC004_5877, 0xC004_5878
LOOP = "/dev/loop-control"


class Disks:
    def __init__(self, scratch, members):
        """Call it before any thread is started: threads stay with the mounts that they see."""
        if not os.access(LOOP, os.R_OK | os.W_OK):
            raise NotPermitted(f"{LOOP} cannot be opened")
        if shutil.which("mkfs.ext4") is None:
            raise NotPermitted("there is no mkfs.ext4 (e2fsprogs)")
        try:
            call("unshare", CLONE_NEWNS)
            call("mount", b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
        except OSError as error:
            raise NotPermitted(f"a mount namespace: {error}") from error
        self.places = {}
        for member in members:
            self.make(scratch, member)

    def make(self, scratch, member):
        place, image = scratch / f"disk-{member}", scratch / f"disk-{member}.ext4"
        place.mkdir(parents=True)
        with image.open("wb") as file:
            file.truncate(SIZE_BYTES)
        try:
            for command in [["mkfs.ext4", "-q", "-m", "0", image], ["mount", "-o", "loop", image, place]]:
                subprocess.run(command, check=True, capture_output=True, text=True)
        except subprocess.CalledProcessError as error:
            self.close()
            raise NotPermitted(f"{error.cmd[0]}: {' '.join(error.stderr.split())}") from error
        self.places[member] = place

    def dir(self, member):
        # The file system's own lost+found is no partition.
        return self.places[member] / "data"

    def fill(self, member):
        """Takes all room that is left."""
        step = SIZE_BYTES
        with self.filler(member).open("wb") as file:
            while step >= 4096:
                try:
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), step)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    step //= 2

    def empty(self, member):
        self.filler(member).unlink()

    def filler(self, member):
        return self.places[member] / "filler"

    def stop(self, member):
        """Whatever is written from now on waits; `go_on` takes what this gives."""
        stopped = subprocess.Popen(
            [sys.executable, __file__, self.places[member]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if stopped.stdout.readline() != "stopped\n":
            raise AssertionError(f"the file system of {member} does not stop: {stopped.wait()}")
        return stopped

    def go_on(self, stopped):
        stopped.stdin.close()
        if stopped.wait() != 0:
            raise AssertionError(f"a file system does not go on: {stopped.returncode}")

    def close(self):
        """When nobody uses them any more. What is on them stays in the files until these are deleted."""
        for place in self.places.values():
            subprocess.run(["umount", place], check=True)
        self.places.clear()


def main():
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
        signal.signal(number, signal.SIG_IGN)
    place = os.open(pathlib.Path(sys.argv[1]), os.O_RDONLY)
    fcntl.ioctl(place, FIFREEZE, 0)
    try:
        print("stopped", flush=True)
        sys.stdin.read()
    finally:
        fcntl.ioctl(place, FITHAW, 0)


if __name__ == "__main__":
    main()
