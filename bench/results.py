"""Results: every run as data, and a page to read."""

import datetime
import functools
import hashlib
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def machine():
    """What the figures were measured on."""
    def first(path, key):
        for line in pathlib.Path(path).read_text().splitlines():
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
        return None

    return {
        "cpu": first("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory": first("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
    }


@functools.cache
def commit():
    """Of the checkout when this is first asked for; the binary should be of it."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True)
    return done.stdout.strip()


def kafka_release(classpath):
    """Of Apache Kafka's jars; None without them."""
    jars = [jar for place in classpath.split(os.pathsep) for jar in pathlib.Path(place).parent.glob("kafka-clients-*.jar")]
    found = [re.fullmatch(r"kafka-clients-([0-9.]+)\.jar", jar.name) for jar in jars]
    return next((match.group(1) for match in found if match), None)


def origin(binary, classpath):
    """What the figures are of: the checkout, the command's bytes and Apache Kafka's jars."""
    digest = hashlib.sha256(pathlib.Path(binary).read_bytes()).hexdigest()[:12]
    return {"commit": commit(), "binary": digest, "kafka": kafka_release(classpath)}


def spread(values):
    """Median and extent of a list of numbers."""
    values = sorted(values)
    return {
        "median": statistics.median(values),
        "min": values[0],
        "max": values[-1],
        "stdev": statistics.stdev(values) if len(values) > 1 else 0.0,
        "runs": len(values),
    }


def summarise(runs, metrics):
    """Spread of every metric, by system."""
    systems = {}
    for run in runs:
        systems.setdefault(run["system"], []).append(run)
    return {
        system: {
            metric: spread([run[metric] for run in of])
            for metric in metrics
            if all(run.get(metric) is not None for run in of)
        }
        for system, of in systems.items()
    }


def ratios(summary, metrics):
    """Thalweg's medians over the others'."""
    mine = summary.get("thalweg")
    if not mine:
        return {}
    return {
        f"thalweg/{other}": {
            metric: mine[metric]["median"] / of[metric]["median"]
            for metric in metrics
            if metric in mine and metric in of and of[metric]["median"]
        }
        for other, of in summary.items()
        if other != "thalweg"
    }


def record(directory, name, text, settings, notes):
    """Where an experiment's results go, without suffix, and what every one of them says."""
    now = datetime.datetime.now(datetime.timezone.utc)
    directory.mkdir(parents=True, exist_ok=True)
    return directory / f"{now:%Y-%m-%d}-{name}", {
        "experiment": name,
        "what": text,
        "date": now.isoformat(timespec="seconds"),
        "machine": machine(),
        "settings": settings,
        "notes": notes,
    }


def write(directory, name, text, settings, runs, metrics, notes):
    """Writes <date>-<name>.json and .md; returns the page."""
    summary = summarise(runs, metrics)
    over = ratios(summary, metrics)
    base, common = record(directory, name, text, settings, notes)
    full = {**common, "summary": summary, "ratios": over, "runs": runs}
    base.with_suffix(".json").write_text(json.dumps(full, indent=1) + "\n")
    page = as_page(full, metrics)
    base.with_suffix(".md").write_text(page)
    return page


def number(value):
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.3g}"


def heading(record):
    """How a page begins."""
    here = record["machine"]
    return [
        f"# {record['experiment']}", "", record["what"], "",
        f"{record['date']}; {here['cores']} cores of {here['cpu']}, {here['memory']}, Linux {here['kernel']}.",
        "Median of all runs, with the least and the most.", "",
    ]


def closing(record):
    """How a page ends."""
    lines = [*(f"- {note}" for note in record["notes"])]
    settings = ", ".join(f"{key} {value}" for key, value in record["settings"].items())
    return lines + ["", f"Settings: {settings}.", ""]


def as_page(record, metrics):
    lines = heading(record)
    systems = list(record["summary"])
    header = ["", *systems, *record["ratios"]]
    lines += ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]
    for metric in metrics:
        cells = []
        for system in systems:
            values = record["summary"][system].get(metric)
            cells.append(
                f"{number(values['median'])} ({number(values['min'])} - {number(values['max'])})"
                if values else "-"
            )
        cells += [number(over.get(metric)) for over in record["ratios"].values()]
        if any(cell != "-" for cell in cells):
            lines.append(f"| {metric.replace('_', ' ')} | " + " | ".join(cells) + " |")
    if record["notes"]:
        lines.append("")
    return "\n".join(lines + closing(record))
