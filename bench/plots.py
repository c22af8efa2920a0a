"""Plots of results, as SVG."""

import math
from xml.sax.saxutils import escape

import results

# Readable on white and on black.
INK, BAR, OURS, WHISKER = "#808080", "#7f9fbf", "#d08040", "#505860"


def bars(name, what, better, sections):
    """Horizontal bars of medians, with the least and the most run. `sections` has under each heading
    the label and the spread (`results.spread`) of each bar; ours are those labelled thalweg."""
    spreads = [values for bars in sections.values() for _, values in bars]
    most = max((values["max"] for values in spreads), default=0) or 1
    least = min((values["min"] for values in spreads if values["min"] > 0), default=most)
    # Where the best is a hundred times the worst, a linear bar would be invisible.
    logarithmic = most / least > 100
    floor = 10 ** math.floor(math.log10(least)) if logarithmic else 0
    # Of a figure all of which are equal powers of ten there is no decade to span.
    decades = math.log10(most / floor) or 1 if logarithmic else 1
    labels = [len(label) for bars in sections.values() for label, _ in bars]
    left = max(130, 7 * max(labels, default=0))
    width, row = 480, 22

    def x(value):
        if not logarithmic:
            return left + width * value / most
        share = math.log10(max(value, floor) / floor) / decades
        return left + width * max(share, 0)

    title = what + (", logarithmic" if logarithmic else "")
    out = [words(8, 18, f"{name}: {title} ({better})", "bold")]
    y = 30
    for heading, of in sections.items():
        y += 18
        out.append(words(8, y, heading, "bold"))
        y += 6
        for label, values in of:
            middle = y + row / 2
            fill = OURS if label.startswith("thalweg") else BAR
            out.append(words(left - 6, middle + 4, label, anchor="end"))
            out.append(f'<rect x="{left}" y="{y + 4}" width="{max(x(values["median"]) - left, 1):.1f}" height="{row - 8}" fill="{fill}"/>')
            low, high = x(values["min"]), x(values["max"])
            out.append(f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 4}v8M{high:.1f} {middle - 4}v8" stroke="{WHISKER}" fill="none"/>')
            out.append(words(max(high, x(values["median"])) + 6, middle + 4, results.number(values["median"])))
            y += row
    height, across = y + 10, left + width + 90
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {height}" width="{across}" height="{height}" font-family="sans-serif" font-size="12">',
        *out, "</svg>", "",
    ])


def words(x, y, of, weight="normal", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" font-weight="{weight}" text-anchor="{anchor}">{escape(of)}</text>'
