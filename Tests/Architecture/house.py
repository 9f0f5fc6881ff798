"""Measures the size of the house: modules, types and files. A report: nothing fails by it.

    python3 Tests/Architecture/house.py           the table (`make house`)
    python3 Tests/Architecture/house.py --list    and what is counted: modules, types

A line counts as it is in the file, blank or not. A type has the lines of its declaration and of all its extensions in
its module, nested types included.
"""

import argparse
import re
from collections import Counter
from pathlib import Path

import swift_types

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


def rows(house, makefile):
    """(measure, value) for each measure."""
    lines, _, name = house.modules()[0]
    (module, biggest), type_lines = house.type_lines.most_common(1)[0]
    return [
        ("modules", number(len(house.files))),
        ("Swift lines in Sources", number(house.lines.total())),
        ("Swift files in Sources", number(house.files.total())),
        ("biggest module, lines", f"{number(lines)} ({name})"),
        ("biggest type, lines", f"{number(type_lines)} ({module}.{biggest})"),
        (f"types with more than {MOST_PROPERTIES} stored properties", number(len(house.properties))),
        ("packages that make demo installs", number(len(packages(makefile)))),
    ]


def print_types(title, entries):
    print(f"\n{title}")
    for (module, name), count, rest in entries:
        print(f"  {number(count):>7}  {module}.{name}{rest}")


def main():
    parser = argparse.ArgumentParser(description="Sizes of modules, types and files.")
    parser.add_argument("--list", action="store_true", help="print what is counted, too")
    options = parser.parse_args()
    house = House()
    for measure, value in rows(house, read("Makefile")):
        print(f"{measure:46} {value}")
    biggest = house.type_lines.most_common(25 if options.list else 5)
    print_types("biggest types", [(key, lines, f", {house.type_files[key]} files") for key, lines in biggest])
    if not options.list:
        return
    print("\nmodules: lines, files")
    for lines, files, name in house.modules():
        print(f"  {number(lines):>7} {number(files):>5}  {name}")
    most = sorted(house.properties.items(), key=lambda entry: (-entry[1], entry[0]))
    print_types("stored properties", [(key, count, "") for key, count in most])


if __name__ == "__main__":
    main()
