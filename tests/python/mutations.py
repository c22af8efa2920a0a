"""Deliberate faults: each of `tests/mutations.toml` is put in, its tests are run, and it is taken back.

A fault that none of its tests notices fails the run. `cargo xtask mutations [NAME...]` calls this; names,
of faults or of suites, choose among the faults. The table goes to stdout as Markdown, what happens meanwhile to stderr.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = "tests/mutations.toml"
# For one fault, with what has to be built.
SECONDS_MAX = 15 * 60
NEXTEST = ROOT / ".cache/nextest/venv/bin/cargo-nextest"
# nextest's own: some test failed, nothing could be built, no test has such a name.
FAILED, NOT_BUILT, NO_TESTS = 100, 101, 4
# A test's name in nextest's lines of those that did not pass.
LINE = re.compile(r"^ +(?!PASS|SLOW|TERMINATING)[A-Z][A-Z0-9 -]* \[ *[\d.]+s\] (?:\([^)]*\) )?(\S+ \S+)$")

# What a test of random lives says of the one that failed.
SEED = re.compile(r"^ *(seed \d+):$", re.MULTILINE)

Fault = collections.namedtuple(
    "Fault", "name fault file find replace suite tests command says env", defaults=("", "", (), "", {})
)


class Refused(Exception):
    """Why nothing can be run."""


def read(text, root):
    """The faults of a list, and how to build each suite. All that is wrong with it is told at once."""
    data = tomllib.loads(text)
    suites, faults, wrong = data.get("suites", {}), [], []
    for entry in data.get("mutation", []):
        name = entry.get("name", "?")
        try:
            fault = Fault(**entry)
        except TypeError as error:
            wrong.append(f"{name}: {error}")
            continue
        faults.append(fault)
        if bool(fault.tests) == bool(fault.command) or (fault.tests and fault.suite not in suites):
            wrong.append(f"{name}: needs tests of a suite, or a command")
        path = root / fault.file
        found = path.read_text().count(fault.find) if path.is_file() and fault.find else 0
        if found != 1:
            wrong.append(f"{name}: stale: its text is {found} times in {fault.file}, not once")
    names = collections.Counter(fault.name for fault in faults)
    wrong += [f"{name}: there are {count} of this name" for name, count in names.items() if count > 1]
    if wrong:
        raise Refused("\n".join(wrong))
    return faults, suites


def chosen(faults, names):
    known = {fault.name for fault in faults} | {fault.suite for fault in faults}
    unknown = set(names) - known
    if unknown:
        raise Refused(f"no such faults: {', '.join(sorted(unknown))}")
    return [fault for fault in faults if not names or fault.name in names or fault.suite in names]


@contextlib.contextmanager
def applied(fault, root):
    """The fault is in the file as long as this lasts."""
    path = root / fault.file
    before = path.read_text()
    try:
        path.write_text(before.replace(fault.find, fault.replace))
        yield
    finally:
        # Written anew and not given its old time back: what was built in between must not pass for
        # this text.
        path.write_text(before)


def call(words, env):
    """Exit code and output, or None as code when it took too long. Its children end with it."""
    child = subprocess.Popen(
        words,
        cwd=ROOT,
        env=os.environ | env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = child.communicate(timeout=SECONDS_MAX)
        return child.returncode, output
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def run(fault, suites, shows_failures=False):
    """What its tests make of the tree as it is: `failed`, `passed`, or why there is neither; and what
    failed first."""
    env = {"THALWEG_SEED_BASE": os.environ.get("THALWEG_SEED_BASE", "1")} | fault.env
    if fault.command:
        code, output = call(fault.command, env)
        if code == 0:
            return "passed", ""
        line = next((line for line in output.splitlines() if re.search(fault.says, line)), None)
        if code is None or line is None:
            return f"it ended with {code}, and not by saying {fault.says!r}", tail(output)
        return "failed", line.strip()
    # A fault is a line or two.
    env["CARGO_INCREMENTAL"] = "1"
    how = ["--profile", "mutations", "--cargo-profile", "ci", "--cargo-quiet"]
    how += ["--features", "thalweg-wire/json", "-E", fault.tests]
    code, output = call([str(NEXTEST), "nextest", "run", *suites[fault.suite], *how], env)
    if code == 0:
        return "passed", ""
    if code == FAILED:
        names = (LINE.match(line) for line in output.splitlines())
        first = next((name[1] for name in names if name), "(see above)")
        if shows_failures:
            tail(output)
        seed = SEED.search(output)
        return "failed", f"{first}, {seed[1]}" if seed else first
    why = {NOT_BUILT: "did not build", NO_TESTS: "no test has such a name", None: "took too long"}
    return why.get(code, f"ended with {code}"), tail(output)


def tail(output):
    sys.stderr.write("".join(f"    {line}\n" for line in output.splitlines()[-40:]))
    return ""


def sound(faults, suites):
    """Sees to it that the tests of all faults pass without them: what fails anyway notices nothing. All
    before the first fault, because then everything is built once."""
    seen = set()
    for fault in faults:
        tests = json.dumps([fault.suite, fault.tests, fault.command, fault.env])
        if tests not in seen:
            seen.add(tests)
            print(f"without a fault: {tests}", file=sys.stderr)
            outcome, first = run(fault, suites, shows_failures=True)
            if outcome != "passed":
                raise Refused(f"without the fault {fault.name}: {outcome} {first}")


def judge(fault, suites):
    """The verdict on a fault, what noticed it, and the seconds that this took."""
    began = time.monotonic()
    with applied(fault, ROOT):
        outcome, first = run(fault, suites)
    verdict = {"failed": "noticed", "passed": "NOT NOTICED"}.get(outcome, outcome)
    return verdict, first, time.monotonic() - began


def row(fault, verdict, first, seconds):
    cells = [fault.name, fault.fault, verdict, f"`{first}`" if first else "-", f"{seconds:.0f}"]
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def main(names):
    # So that a kind end takes the fault back, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if subprocess.check_output(["git", "status", "--porcelain"], cwd=ROOT):
        raise Refused("the work tree has changes that are not committed")
    faults, suites = read((ROOT / LIST).read_text(), ROOT)
    faults, missed = chosen(faults, names), []
    sound(faults, suites)
    print("| name | fault | | first to fail | s |\n|---|---|---|---|--:|", flush=True)
    for at, fault in enumerate(faults, 1):
        print(f"{at}/{len(faults)} {fault.name}", file=sys.stderr)
        verdict, first, seconds = judge(fault, suites)
        print(row(fault, verdict, first, seconds), flush=True)
        if verdict != "noticed":
            missed.append(fault.name)
    print(f"{len(faults)} faults, {len(faults) - len(missed)} noticed", file=sys.stderr)
    if missed:
        raise Refused(f"not noticed: {', '.join(missed)}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Refused as refused:
        sys.exit(f"mutations: {refused}")
