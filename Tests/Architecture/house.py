"""Measures the size of the house: modules, types, files and words, each with the goal next to it.

    python3 Tests/Architecture/house.py           the table (`make house`)
    python3 Tests/Architecture/house.py --list    and what is counted: modules, types, loose files, wording rules

A line counts as it is in the file, blank or not. A type has the lines of its declaration and of all its extensions in
its module, nested types included.
"""

import argparse
import re
from collections import Counter
from pathlib import Path

import swift_types
import wording

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "Sources"

# The Makefile's variables with the Debian packages that `make demo` installs; the first that is there counts.
DEMO_PACKAGES = ["DEMO_PACKAGES", "PACKAGES"]
MOST_PROPERTIES = 10


class House:
    """What was measured. Paths are those of Swift files, without symbolic links."""

    def __init__(self, sources=SOURCES):
        self.sources = sources
        self.files = Counter()  # by module
        self.lines = Counter()
        self.type_lines = Counter()  # by module and type
        self.type_files = Counter()
        self.properties = {}
        for path in sorted(sources.rglob("*.swift")):
            if not path.is_symlink():
                self.read(path.relative_to(sources).parts[0], path.read_text(encoding="utf-8"))

    def read(self, module, text):
        self.files[module] += 1
        self.lines[module] += len(text.splitlines())
        names = set()
        for declaration in swift_types.declarations(text):
            key = (module, declaration.name)
            self.type_lines[key] += declaration.lines
            names.add(key)
            if len(declaration.properties) > MOST_PROPERTIES:
                self.properties[key] = len(declaration.properties)
        self.type_files.update(names)

    def modules(self):
        """Modules with files and lines, the biggest first."""
        return sorted(((self.lines[name], self.files[name], name) for name in self.files), reverse=True)

    def loose_files(self):
        return sorted(path.name for path in (self.sources / "Sidecar").glob("*.swift"))


def path_files(contributing, heading="## The path of a `fetchResource`"):
    """The files in the table of CONTRIBUTING.md below a heading, in their order, as paths below Sources."""
    section = contributing.partition(heading)[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [name for row in rows for name in re.findall(r"`([\w/+]+\.swift)`", row)]


def packages(makefile):
    """The packages of the first of the variables that the Makefile sets, with those of the variables in it."""
    for name in DEMO_PACKAGES:
        if value := variable(makefile, name):
            return [package for word in value for package in expanded(makefile, word)]
    return []


def variable(makefile, name):
    """The words of a variable of the Makefile; none when it is not set."""
    value = re.search(rf"^{name} *:?= *((?:.*\\\n)*.*)", makefile, re.MULTILINE)
    return value.group(1).replace("\\\n", " ").split() if value else []


def expanded(makefile, word):
    """A word of the Makefile: itself, or the words of the variable that it names."""
    name = re.fullmatch(r"\$\((\w+)\)", word)
    return variable(makefile, name.group(1)) if name else [word]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


# MARK: the table


def number(value):
    return f"{value:,}"


def rows(house, findings, makefile, contributing):
    """(measure, today, goal, whether the goal is reached) for each measure."""
    lines, files, name = house.modules()[0]
    most_files = max(files for _, files, _ in house.modules())
    (module, biggest), type_lines = house.type_lines.most_common(1)[0]
    swift_lines, swift_files = house.lines.total(), house.files.total()
    loose, demo, path = len(house.loose_files()), len(packages(makefile)), len(set(path_files(contributing)))
    return [
        ("biggest module, lines", f"{number(lines)} ({name})", "≤ 4,500", lines <= 4500),
        ("biggest module, files", f"{number(most_files)}", "≤ 80", most_files <= 80),
        ("biggest type, lines", f"{number(type_lines)} ({module}.{biggest})", "≤ 400", type_lines <= 400),
        ("files that a fetch with refresh passes", f"{path} (listed in CONTRIBUTING)", "≤ 32", path <= 32),
        ("Swift lines in Sources", number(swift_lines), "≤ 54,000", swift_lines <= 54000),
        ("Swift files in Sources", number(swift_files), "≤ 850", swift_files <= 850),
        (f"types with more than {MOST_PROPERTIES} stored properties", number(len(house.properties)), "≤ 20",
         len(house.properties) <= 20),
        ("loose files in Sources/Sidecar", number(loose), "0", loose == 0),
        ("findings of the wording test", number(findings), "0", findings == 0),
        ("make test, minutes on two cores", "time make test", "≤ 12", None),
        ("packages that make demo installs", number(demo), "≤ 20", demo <= 20),
    ]


def print_table(table):
    print(f"{'measure':46} {'today':32} {'goal':10}")
    for measure, today, goal, is_reached in table:
        print(f"{measure:46} {today:32} {goal:10} {'' if is_reached is None else 'yes' if is_reached else 'no'}".rstrip())


def print_types(title, entries):
    print(f"\n{title}")
    for (module, name), count, rest in entries:
        print(f"  {number(count):>7}  {module}.{name}{rest}")


def main():
    parser = argparse.ArgumentParser(description="Sizes of modules, types and files, with their goals.")
    parser.add_argument("--list", action="store_true", help="print what is counted, too")
    options = parser.parse_args()
    house = House()
    totals = wording.totals(wording.scan())
    print_table(rows(house, sum(totals.values()), read("Makefile"), read("CONTRIBUTING.md")))
    biggest = house.type_lines.most_common(25 if options.list else 5)
    print_types("biggest types", [(key, lines, f", {house.type_files[key]} files") for key, lines in biggest])
    if not options.list:
        return
    print("\nmodules: lines, files")
    for lines, files, name in house.modules():
        print(f"  {number(lines):>7} {number(files):>5}  {name}")
    most = sorted(house.properties.items(), key=lambda entry: (-entry[1], entry[0]))
    print_types("stored properties", [(key, count, "") for key, count in most])
    print("\nloose files in Sources/Sidecar")
    for name in house.loose_files():
        print(f"  {name}")
    print("\nfindings of the wording test")
    for rule, count in totals.items():
        print(f"  {number(count):>7}  {rule}")


if __name__ == "__main__":
    main()
