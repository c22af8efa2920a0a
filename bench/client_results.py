"""Results of the experiments with clients: data, a page to read, and a plot."""

import datetime
import json

import plots
import results


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
    sections = {
        f"on {broker}": [(system, systems[system][first]) for system in ordered(systems, experiment)]
        for broker, systems in record["summary"].items()
    }
    better = "less is better" if experiment.lower_is_better else "more is better"
    return plots.bars(record["experiment"], first.replace("_", " "), better, sections)
