"""The scanner of Swift and the measures of `make house`, on small samples; the paths of CONTRIBUTING.md. Standard library only."""

import subprocess

import pytest

import house
import swift_types

SWIFT = '''\
/* struct Commented { /* nested } */ let a = 1 */
public final class Outer<Item: Hashable>: Base where Item: Sendable {  // }
  let a: Int, b = 2
  private(set) var c: [String: Int] = [:]
  var computed: Int { a + 1 }
  var d: Dictionary<Int, String> {
    didSet { log("}") }
  }
  static let shared = 1
  public private(set) static var count: Int { 2 }
  class var kind: Int { 3 }
  lazy var e = { let inner = 1; return inner }()
  let (f, g): (Int, Int)
  let h: (Int, String) -> Void
  @Locked var i = 3, j: Int
  var computedBelow: Int
  {
    1
  }
  let k =
    long(1, 2)
  let l = "\\(text("}", { $0 }))" + #"{"\\("# // {
  let m: Result<Int, String>, n: Int
  let text = """
    { "quoted" \\(a ? "}" : "x")
    """
  weak var o: Outer?

  struct Inner { var p: Int; let q: Bool }

  func use() {
    let local = 1
    if let a, case .some(let b) = c { var other = 2 }
  }
}

extension Outer.Inner {
  var computed: Int { 1 }
  enum Kind { case one, two }
}

protocol Port { var a: Int { get } }
'''


def declared():
    return {(item.kind, item.name): item for item in swift_types.declarations(SWIFT)}


def test_types_have_their_full_names_and_their_lines():
    """Catches a brace in a comment or a string that counts, and a nested type that goes unseen."""
    found = {key: (item.first, item.last) for key, item in declared().items()}
    assert found == {
        ("class", "Outer"): (2, 35),
        ("struct", "Outer.Inner"): (29, 29),
        ("extension", "Outer.Inner"): (37, 40),
        ("enum", "Outer.Inner.Kind"): (39, 39),
        ("protocol", "Port"): (42, 42),
    }


def test_stored_properties_are_those_of_the_instance():
    """Catches computed, static and local variables that count, and several names of one declaration that do not."""
    assert declared()["class", "Outer"].properties == [*"abcdefghijklmn", "text", "o"]
    assert declared()["struct", "Outer.Inner"].properties == ["p", "q"]
    assert declared()["extension", "Outer.Inner"].properties == []
    assert declared()["protocol", "Port"].properties == []


def test_code_keeps_its_offsets():
    code = swift_types.code_only(SWIFT)
    assert len(code) == len(SWIFT) and code.count("\n") == SWIFT.count("\n")
    assert code.count("{") == code.count("}") and "quoted" not in code and "Commented" not in code


def test_a_type_is_measured_over_all_its_files(tmp_path):
    """Catches a type that looks small because its extensions are elsewhere."""
    properties = "".join(f"  let p{index}: Int\n" for index in range(11))
    files = {
        "Sidecar/Big.swift": f"struct Big {{\n{properties}}}\n",
        "Sidecar/Parts/Big+More.swift": "extension Big {\n}\n",
        "Engine/Small.swift": "struct Small {}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    measured = house.House(tmp_path)
    assert measured.modules() == [(15, 2, "Sidecar"), (1, 1, "Engine")]
    assert measured.type_lines == {("Sidecar", "Big"): 15, ("Engine", "Small"): 1}
    assert measured.type_files["Sidecar", "Big"] == 2
    assert measured.properties == {("Sidecar", "Big"): 11}
    assert (measured.lines.total(), measured.files.total()) == (16, 3)


def test_packages_are_read_from_the_makefile():
    """Catches a variable that was renamed: nothing would look like few packages."""
    assert house.packages("A := x\nPACKAGES := a b \\\n  c\nB := d\n") == ["a", "b", "c"]
    assert house.packages("PACKAGES := a b\nDEMO_PACKAGES := c\n") == ["c"]
    assert len(house.packages((house.ROOT / "Makefile").read_text(encoding="utf-8"))) > 5


# MARK: the paths in CONTRIBUTING.md


PATHS = ["## The path of a `fetchResource`", "## The path of a step-up"]


@pytest.mark.parametrize("heading", PATHS)
def test_the_files_of_the_paths_exist(heading):
    """Catches a file that was renamed or removed, and a step that names none."""
    files = house.path_files(house.read("CONTRIBUTING.md"), heading)
    assert len(files) > 10, "the scan of the table finds too little"
    missing = [name for name in files if not (house.SOURCES / name).exists()]
    assert not missing, f"{heading}: {missing}"
    section = house.read("CONTRIBUTING.md").partition(heading)[2].partition("\n## ")[0]
    steps = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert not [step for step in steps if ".swift`" not in step], "a step is a file, not a folder"


# MARK: the Makefile


def installed_packages(target):
    command = ["make", "--no-print-directory", "-n", "-C", str(house.ROOT), target]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return {package for line in printed.splitlines() if "install-packages" in line for package in line.split()[1:]}


def test_make_test_installs_what_it_needs_and_no_more():
    """Catches a prerequisite that pulls in the packages of every target, as the providers did."""
    makefile = house.read("Makefile")
    wanted = set()
    for name in ["TEST_PACKAGES", "DEMO_PACKAGES", "BUILD_PACKAGES"]:
        wanted |= {package for package in house.variable(makefile, name) if not package.startswith("$")}
    assert len(wanted) > 20 and installed_packages("test") == wanted
