import PosternJSON
import Testing

@testable import PosternProtocol

@Suite("Params are decoded strictly, and an error has the JSON Pointer of its value")
struct ParamsTests {
  static let fetches: [(JSONValue, String)] = [
    (["resource": 1, "path": "x"], "/resource"),
    (["path": ["x"]], "/path"),
    (["path": "x", "timeoutMs": "1"], "/timeoutMs"),
    (["path": "x", "timeoutMs": 1.5], "/timeoutMs"),
    (["path": "x", "parameters": []], "/parameters"),
    (["path": "x", "headers": ["x": 1]], "/headers/x"),
    (["path": "x", "headers": ["x": ["a", 1]]], "/headers/x/1"),
    (["path": "x", "auth": "magic"], "/auth"),
    (["path": "x", "parametersEncoding": "xml"], "/parametersEncoding"),
    (["path": "x", "parametres": [:]], "/parametres"),
    (["path": "x", "a/b~c": 1], "/a~1b~0c"),
  ]

  @Test("a param of the wrong kind, and one that is unknown", arguments: fetches)
  func fetch(row: (JSONValue, String)) {
    let error = #expect(throws: JSONDecodingError.self) {
      try JSONValueDecoder().decode(FetchResource.Params.self, from: row.0)
    }
    #expect(error?.path == row.1)
  }
}

@Suite("Params that are read without the decoder are those that it decodes")
struct ParamsReadingTests {
  /// Values of every kind, with those that some member accepts.
  static let values: [JSONValue] = [
    nil, true, false, 0, -1, 7, 1.5, 1.0, .integer(.max), "", "x", "é", "a\0", "user", "device", "json", "fd", "frames",
    "refresh", "required", [], ["a"], ["a", 1], ["a\0"], [nil], ["LOCAL_CACHE"], [:], ["x": "y"], ["x": 1], ["x": nil],
    ["x": ["a", "b"]], ["x": ["a", nil]], ["x": []], ["x": "a\0"], ["a": ["b": "\0"]], ["token": "t"], ["y\0": "z"],
    [["name": "p", "data": "d"]],
  ]

  /// Members that are left to the decoder.
  static let seldom: Set<String> = ["onBehalfOf", "multipart", "disableFeatures"]

  /// What the reader and the decoder make of `object`; whether the reader made anything of it.
  private static func check<Params: RPCObject>(_ type: Params.Type, _ object: JSONObject) throws {
    let tree = JSONTree(.object(object))
    let decoded = try? JSONValueDecoder().decode(type, from: tree)
    guard let read = Params.read(tree) else {
      let isSeldom = object.names.contains(where: seldom.contains)
      #expect(decoded == nil || isSeldom, "\(object.names) was left to the decoder")
      return
    }
    let decodedJSON = try decoded.map { try JSONValueEncoder().encode($0) }
    #expect(try JSONValueEncoder().encode(read) == decodedJSON, "\(JSONWriter().string(.object(object)))")
  }

  private static func check<Params: RPCObject>(_ type: Params.Type, required: JSONObject) throws {
    try check(type, required)
    try check(type, [:])
    let names = SchemaRecorder.members(of: type).map(\.name) + ["unknown", "", "pathx"]
    for name in names {
      for value in values {
        var object = required
        object[name] = value
        try check(type, object)
        try check(type, [name: value])
      }
    }
    // Several members, by a generator that gives the same ones each time.
    var state: UInt64 = 39
    func number(below limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
    for _ in 0..<1000 {
      var object = required
      for _ in 0...number(below: 4) { object[names[number(below: names.count)]] = values[number(below: values.count)] }
      try check(type, object)
    }
  }

  @Test("fetchResource and getAccessToken") func fetches() throws {
    try Self.check(FetchResource.Params.self, required: [:])
    try Self.check(GetAccessToken.Params.self, required: [:])
  }

  @Test("preauthorize, validateIdToken and validateRequest") func decisions() throws {
    try Self.check(Preauthorize.Params.self, required: ["resources": ["a"]])
    try Self.check(ValidateIDToken.Params.self, required: ["idToken": "t"])
    try Self.check(ValidateRequest.Params.self, required: ["method": "GET", "url": "u", "headers": ["a": "b"]])
  }

  @Test("what is no object is left to the decoder", arguments: [nil, 1, "x", ["path"]] as [JSONValue])
  func others(value: JSONValue) {
    let isRead = FetchResource.Params.read(JSONTree(value)) != nil
    #expect(!isRead)
  }
}
