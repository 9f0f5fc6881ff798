import PosternJSON
import Testing

private struct Outer: Codable, Equatable {
  struct Inner: Codable, Equatable {
    var count: UInt8
    var flag: Bool?
  }
  enum Kind: String, Codable, CaseIterable { case one, two }
  var name: String
  var ratio: Double?
  var kind: Kind?
  var inner: Inner?
  var list: [Inner]?
  var map: [String: Int]?
  var raw: JSONValue?
}

private struct Raw: RawJSONDecodable, Equatable {
  let json: JSONValue
  init(rawJSON json: JSONValue) throws(RawJSONProblem) {
    guard json != .bool(false) else { throw RawJSONProblem(.invalid("must not be false")) }
    self.json = json
  }
  init(from decoder: any Decoder) throws { json = try JSONValue(from: decoder) }
}

private struct WithRaw: Decodable, Equatable { let body: Raw? }

@Suite("Codable bridge: strict, with the path of what is wrong")
struct JSONValueDecoderTests {
  @Test(
    "reports the path and the problem",
    arguments: [
      (#"{}"#, "/name", JSONDecodingError.Problem.missing),
      (#"{"name":null}"#, "/name", .mismatch(expected: "a string", actual: "null")),
      (#"{"name":1}"#, "/name", .mismatch(expected: "a string", actual: "integer")),
      (#"{"name":"x","nmae":1}"#, "/nmae", .unknownMember(closest: "name")),
      (#"{"name":"x","a/b~c":1}"#, "/a~1b~0c", .unknownMember(closest: nil)),
      (#"{"name":"x\u0000"}"#, "/name", .invalid("must not contain U+0000")),
      (#"{"name":"x","kind":"three"}"#, "/kind", .invalid("must be one of one, two")),
      (#"{"name":"x","kind":"ome"}"#, "/kind", .invalid("must be one of one, two; did you mean one?")),
      (#"{"name":"x","inner":{"count":1,"fla":true}}"#, "/inner/fla", .unknownMember(closest: "flag")),
      (#"{"name":"x","inner":{"count":256}}"#, "/inner/count", .invalid("is out of range")),
      (#"{"name":"x","inner":{"count":-1}}"#, "/inner/count", .invalid("is out of range")),
      (#"{"name":"x","inner":{"count":1.0}}"#, "/inner/count", .mismatch(expected: "an integer", actual: "number")),
      (
        #"{"name":"x","inner":{"count":1,"flag":1}}"#, "/inner/flag",
        .mismatch(expected: "a boolean", actual: "integer")
      ),
      (#"{"name":"x","list":[{"count":1},{"count":1,"typo":0}]}"#, "/list/1/typo", .unknownMember(closest: nil)),
      (#"{"name":"x","list":{}}"#, "/list", .mismatch(expected: "an array", actual: "object")),
      (#"{"name":"x","map":{"a":1,"b":"2"}}"#, "/map/b", .mismatch(expected: "an integer", actual: "string")),
      (#"{"name":"x","raw":{"deep":["\u0000"]}}"#, "/raw", .invalid("must not contain U+0000")),
      (#"[]"#, "", .mismatch(expected: "an object", actual: "array")),
    ])
  func problems(text: String, path: String, problem: JSONDecodingError.Problem) throws {
    let value = try JSONParser(allowsNUL: true).parse(text)
    let error = #expect(throws: JSONDecodingError.self) { try JSONValueDecoder().decode(Outer.self, from: value) }
    #expect(error == JSONDecodingError(path: path, problem: problem))
  }

  @Test("null counts as absent for optional members")
  func nullIsAbsent() throws {
    let value = try JSONParser().parse(#"{"name":"x","ratio":null,"kind":null,"inner":null,"raw":null}"#)
    #expect(try JSONValueDecoder().decode(Outer.self, from: value) == Outer(name: "x"))
  }

  @Test("an answer of another server may hold members we do not know")
  func lenient() throws {
    let value = try JSONParser().parse(#"{"name":"x","more":1,"inner":{"count":1,"more":2}}"#)
    let outer = try JSONValueDecoder(ignoresUnknownMembers: true).decode(Outer.self, from: value)
    #expect(outer.inner?.count == 1)
  }

  @Test("a raw member keeps U+0000, and its own problem gets the path")
  func raw() throws {
    let good = try JSONParser(allowsNUL: true).parse(#"{"body":"\u0000"}"#)
    #expect(try JSONValueDecoder().decode(WithRaw.self, from: good).body?.json == "\u{0}")
    let error = #expect(throws: JSONDecodingError.self) {
      try JSONValueDecoder().decode(WithRaw.self, from: ["body": false] as JSONValue)
    }
    #expect(error?.path == "/body")
  }

  @Test("what is encoded is decoded again, members in the order of the type")
  func encoding() throws {
    let outer = Outer(
      name: "n", ratio: 0.5, kind: .two, inner: .init(count: 3, flag: true), list: [.init(count: 1)], map: ["k": 1],
      raw: ["z": 1, "a": [nil]])
    let json = try JSONValueEncoder().encode(outer)
    #expect(json.objectValue?.names == ["name", "ratio", "kind", "inner", "list", "map", "raw"])
    #expect(try JSONValueDecoder().decode(Outer.self, from: json) == outer)
    #expect(throws: EncodingError.self) { try JSONValueEncoder().encode(Outer(name: "n", ratio: .nan)) }
  }
}
