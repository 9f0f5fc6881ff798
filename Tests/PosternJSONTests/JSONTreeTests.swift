import PosternTestSupport
import Testing

@testable import PosternJSON

@Suite("Trees: values of a message, read in place")
struct JSONTreeTests {
  private struct Options: Decodable, Equatable {
    var resource: String?
    var resourceful: String?
    var limit: Int?
  }

  private static func tree(_ text: String) throws -> JSONTree {
    try JSONParser(allowsNUL: true, allowsScalar: true).tree(of: Array(text.utf8))
  }

  @Test("a tree made of a value reads as that value")
  func roundTrip() {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<500 {
      let value = Self.value(depth: 4, &generator)
      #expect(JSONTree(value).value == value)
    }
    #expect(JSONTree(.real(.infinity)).value == .null)
  }

  private static func value(depth: Int, _ generator: inout SeededGenerator) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &generator) {
    case 0: .null
    case 1: .bool(.random(using: &generator))
    case 2: .integer(.random(in: .min ... .max, using: &generator))
    case 3: .real(.random(in: -1e9...1e9, using: &generator))
    case 4: .string(text(&generator))
    case 5: .array((0..<3).map { _ in value(depth: depth - 1, &generator) })
    default:
      .object(
        JSONObject(
          (0..<Int.random(in: 0..<20, using: &generator)).map { ("\($0)é", value(depth: depth - 1, &generator)) }))
    }
  }

  private static func text(_ generator: inout SeededGenerator) -> String {
    let characters: [Character] = ["a", "\u{0}", "\"", "\\", "é", "😀", "\n", "~", "/"]
    return String(
      (0..<Int.random(in: 0..<24, using: &generator)).map { _ in characters.randomElement(using: &generator) ?? "a" })
  }

  @Test("values are counted at every level, up to the limit")
  func count() throws {
    let tree = try Self.tree(#"{"a":[1,{"b":null}],"c":"d"}"#)
    #expect((0...5).allSatisfy(tree.hasMoreValues) && !tree.hasMoreValues(than: 6) && !tree.hasMoreValues(than: 7))
    #expect(try Self.tree("0").hasMoreValues(than: 0) && !Self.tree("[]").hasMoreValues(than: 1))
  }

  @Test("members come in their order, and are named by their bytes")
  func members() throws {
    let tree = try Self.tree(#"{"b":"2.0","é":1,"a":null,"c":{},"d":[]}"#)
    // Members borrow from the tree.
    withExtendedLifetime(tree) {
      let members = Self.members(of: tree)
      #expect(members.count == 5)
      guard members.count == 5 else { return }
      #expect(members[0].isNamed("b") && !members[0].isNamed("bb") && !members[0].isNamed("c"))
      #expect(members[0].isString("2.0") && !members[0].isString("2.1") && !members[0].isString("2.00"))
      #expect(members[1].isNamed("é") && !members[1].isNamed("e\u{301}"))
      #expect(members[1].integer == 1 && members[1].string == nil)
      #expect(members[2].isNull && !members[2].isObject && !members[2].isArray)
      #expect(members[3].isObject && members[4].isArray)
    }
    #expect(Self.members(of: try Self.tree("[1]")).isEmpty)
  }

  private static func members(of tree: JSONTree) -> [JSONTree.Member] {
    var iterator = tree.members
    var members: [JSONTree.Member] = []
    while let member = iterator.next() { members.append(member) }
    return members
  }

  @Test("elements and members live on without their tree")
  func lives() throws {
    var tree: JSONTree? = try Self.tree(#"[{"a":"one"},{"a":"two"},3]"#)
    let elements = try #require(tree?.elements)
    let member = elements[1].member("a")
    tree = nil
    #expect(elements.map(\.value) == [["a": "one"], ["a": "two"], 3])
    #expect(member?.value == "two")
    #expect(elements[0].elements == nil && elements[0].member("b") == nil && elements[2].member("a") == nil)
  }

  @Test("a member is split off, and the tree itself keeps it")
  func split() throws {
    let tree = try Self.tree(#"{"x":1,"meta":{"y":"z"},"w":[2]}"#)
    let (meta, rest) = try #require(tree.split(off: "meta"))
    #expect(meta.value == ["y": "z"] && rest.value == ["x": 1, "w": [2]])
    #expect(tree["meta"] == ["y": "z"] && tree.value.objectValue?.names == ["x", "meta", "w"])
    #expect(rest.split(off: "meta") == nil)
  }

  @Test("members with the same beginning are told apart, among few and among many")
  func similarNames() throws {
    for filler in [0, 40] {
      let others = (0..<filler).map { #","other\#($0)":0"# }.joined()
      let decoder = JSONValueDecoder(ignoresUnknownMembers: true)
      let tree = try Self.tree(#"{"resourceful":"b","resource":"a","resourcefuller":"c","limit":7\#(others)}"#)
      #expect(try decoder.decode(Options.self, from: tree) == Options(resource: "a", resourceful: "b", limit: 7))
      let error = #expect(throws: JSONDecodingError.self) { try JSONValueDecoder().decode(Options.self, from: tree) }
      #expect(error == JSONDecodingError(path: "/resourcefuller", problem: .unknownMember(closest: "resourceful")))
    }
  }
}
