#!/usr/bin/env python3
"""A straightforward parser of cyclictest histogram files, to compare `latlab import` with.

Only the standard library. For each file: rows, footer, sum of each column, checked against the total.
Prints one line of JSON for each file.

  import_baseline.py generate DIR [FILES [BINS]]   write histogram files (default 10000 of 1000 bins)
  import_baseline.py parse FILE...                 or `parse -` to read file names from stdin
"""

import json
import os
import random
import sys


def generate(directory, files, bins):
    """Files as `cyclictest -h BINS -q -t 2` of rt-tests 2.4 writes them."""
    os.makedirs(directory, exist_ok=True)
    rng = random.Random(1)
    for number in range(files):
        rows = [[0, 0] for _ in range(bins)]
        for thread in range(2):
            for _ in range(200):
                rows[min(int(rng.gammavariate(4, 6)), bins - 1)][thread] += rng.randrange(1, 2000)
        totals = [sum(row[thread] for row in rows) for thread in range(2)]
        used = [[b for b, row in enumerate(rows) if row[thread]] for thread in range(2)]
        with open(os.path.join(directory, f"{number:05}.hist"), "w") as out:
            out.write("# /dev/cpu_dma_latency set to 0us\n# Histogram\n")
            for index, row in enumerate(rows):
                out.write("%06d %06d\t%06d\n" % (index, row[0], row[1]))
            out.write("# Total: %09d %09d\n" % tuple(totals))
            out.write("# Min Latencies: %05d %05d\n" % (used[0][0], used[1][0]))
            means = [sum(b * row[thread] for b, row in enumerate(rows)) // totals[thread] for thread in range(2)]
            out.write("# Avg Latencies: %05d %05d\n" % tuple(means))
            out.write("# Max Latencies: %05d %05d\n" % (used[0][-1], used[1][-1]))
            out.write("# Histogram Overflows: 00000 00000\n# Histogram Overflow at cycle number:\n# Thread 0:\n# Thread 1:\n\n")


def parse(path):
    footer, histogram = {}, {}
    columns = []
    with open(path) as source:
        for line in source:
            line = line.strip()
            if not line:
                continue
            if line.startswith("#"):
                name, _, values = line[1:].partition(":")
                if values.strip():
                    footer[name.strip()] = [int(v) for v in values.split() if v.isdigit()]
                continue
            fields = line.split()
            counts = [int(field) for field in fields[1:]]
            if not columns:
                columns = [0] * len(counts)
            for thread, count in enumerate(counts):
                columns[thread] += count
                if count:
                    histogram.setdefault(thread, {})[int(fields[0])] = count
    return {
        "file": path,
        "binned": columns,
        "min": footer.get("Min Latencies"),
        "max": footer.get("Max Latencies"),
        "overflows": footer.get("Histogram Overflows"),
        "agrees": footer.get("Total") == columns,
    }


def main(arguments):
    if arguments[:1] == ["generate"] and len(arguments) in (2, 3, 4):
        numbers = [int(n) for n in arguments[2:]]
        generate(arguments[1], *(numbers + [10000, 1000][len(numbers):]))
    elif arguments[:1] == ["parse"] and len(arguments) > 1:
        names = (line.strip() for line in sys.stdin) if arguments[1] == "-" else arguments[1:]
        for name in names:
            print(json.dumps(parse(name)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
