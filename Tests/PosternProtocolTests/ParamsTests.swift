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
