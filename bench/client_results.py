"""Results of the experiments with clients: data, a page to read, and a plot."""

import datetime
import json
import math
from xml.sax.saxutils import escape

import results

# Readable on white and on black.
INK, BAR, OURS, WHISKER = "#808080", "#7f9fbf", "#d08040", "#505860"


def text(run, metric):
    return results.number(run.get(metric))


def write(directory, name, experiment, settings, runs, notes):
    """Writes <date>-<name>.json, .md and .svg; returns the page."""
    brokers = list(dict.fromkeys(run["broker"] for run in runs))
    summary = {
        broker: results.summarise([run for run in runs if run["broker"] == broker], experiment.metrics)
        for broker in brokers
    }
    now = datetime.datetime.now(datetime.timezone.utc)
    record = {
        "experiment": name, "what": experiment.text, "date": now.isoformat(timespec="seconds"),
        "machine": results.machine(), "settings": settings, "notes": notes, "summary": summary, "runs": runs,
    }
    directory.mkdir(parents=True, exist_ok=True)
    base = directory / f"{now:%Y-%m-%d}-{name}"
    base.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    base.with_suffix(".svg").write_text(plot(record, experiment))
    page = as_page(record, experiment, base.with_suffix(".svg").name)
    base.with_suffix(".md").write_text(page)
    return page


def ordered(systems, experiment):
    """Best first, by the first metric."""
    first = experiment.metrics[0]
    sign = 1 if experiment.lower_is_better else -1
    known = [system for system in systems if first in systems[system]]
    return sorted(known, key=lambda system: sign * systems[system][first]["median"])


def as_page(record, experiment, plot_name):
    here = record["machine"]
    first = experiment.metrics[0]
    lines = [
        f"# {record['experiment']}", "", record["what"], "",
        f"{record['date']}; {here['cores']} cores of {here['cpu']}, {here['memory']}, Linux {here['kernel']}.",
        "Median of all runs, with the least and the most. CPU is that of the client's process.", "",
        f"![{first.replace('_', ' ')}]({plot_name})", "",
    ]
    versions = {run["system"]: run["report"]["version"] for run in record["runs"]}
    for broker, systems in record["summary"].items():
        ours = systems.get("thalweg", {}).get(first)
        lines += [f"## On {broker}", ""]
        header = ["client", *(metric.replace("_", " ") for metric in experiment.metrics)]
        if ours:
            header.append("times ours")
        lines += ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]
        for system in ordered(systems, experiment):
            cells = [f"{system} {versions[system]}"]
            for metric in experiment.metrics:
                values = systems[system].get(metric)
                cells.append(
                    f"{results.number(values['median'])} ({results.number(values['min'])} - {results.number(values['max'])})"
                    if values else "-"
                )
            if ours:
                mine = ours["median"]
                cells.append(results.number(systems[system][first]["median"] / mine) if mine else "-")
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    lines += [f"- {note}" for note in record["notes"]]
    settings = ", ".join(f"{key} {value}" for key, value in record["settings"].items())
    lines += ["", f"Settings: {settings}.", ""]
    return "\n".join(lines)


def plot(record, experiment):
    """Horizontal bars of the first metric, with the least and the most run."""
    first = experiment.metrics[0]
    bars = [
        (broker, system, systems[system][first])
        for broker, systems in record["summary"].items()
        for system in ordered(systems, experiment)
    ]
    most = max((values["max"] for _, _, values in bars), default=0) or 1
    least = min((values["min"] for _, _, values in bars if values["min"] > 0), default=most)
    # Where the best is a hundred times the worst, a linear bar would be invisible.
    logarithmic = most / least > 100
    floor = 10 ** math.floor(math.log10(least)) if logarithmic else 0
    left, width, row = 130, 480, 22

    def x(value):
        if not logarithmic:
            return left + width * value / most
        share = math.log10(max(value, floor) / floor) / math.log10(most / floor)
        return left + width * max(share, 0)

    title = first.replace("_", " ") + (", logarithmic" if logarithmic else "")
    better = "less is better" if experiment.lower_is_better else "more is better"
    out = [words(8, 18, f"{record['experiment']}: {title} ({better})", "bold")]
    y, before = 30, None
    for broker, system, values in bars:
        if broker != before:
            before = broker
            y += 18
            out.append(words(8, y, f"on {broker}", "bold"))
            y += 6
        middle = y + row / 2
        fill = OURS if system.startswith("thalweg") else BAR
        out.append(words(left - 6, middle + 4, system, anchor="end"))
        out.append(f'<rect x="{left}" y="{y + 4}" width="{max(x(values["median"]) - left, 1):.1f}" height="{row - 8}" fill="{fill}"/>')
        low, high = x(values["min"]), x(values["max"])
        out.append(f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 4}v8M{high:.1f} {middle - 4}v8" stroke="{WHISKER}" fill="none"/>')
        out.append(words(max(high, x(values["median"])) + 6, middle + 4, results.number(values["median"])))
        y += row
    height = y + 10
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {height}" width="700" height="{height}" font-family="sans-serif" font-size="12">',
        *out, "</svg>", "",
    ])


def words(x, y, of, weight="normal", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" font-weight="{weight}" text-anchor="{anchor}">{escape(of)}</text>'
