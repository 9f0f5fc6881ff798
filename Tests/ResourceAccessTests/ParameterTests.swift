import AuthEngine
import EngineTestSupport
import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Parameters are sent in the form of the contract", .bothWays)
struct ParameterTests {
  static let pairs: [(JSONObject, String)] = [
    ([:], ""),
    (["a": "1"], "a=1"),
    (["b": 1, "a": 2], "a=2&b=1"),
    (["B": 1, "a": 2, "A": 3], "A=3&B=1&a=2"),
    (["a": true, "b": false], "a=true&b=false"),
    (["a": nil], "a"),
    (["a": nil, "b": ""], "a&b="),
    (["n": -5, "x": 1.5, "y": 1e21], "n=-5&x=1.5&y=1e21"),
    (["a": ["x": 1, "b": ["c": "d"]]], "a%5Bb%5D%5Bc%5D=d&a%5Bx%5D=1"),
    (["a": [3, 1, 2]], "a%5B%5D=3&a%5B%5D=1&a%5B%5D=2"),
    (["a": [[1], ["x": nil]]], "a%5B%5D%5B%5D=1&a%5B%5D%5Bx%5D"),
    (["a": [], "b": [:]], ""),
    (["a": [nil]], "a%5B%5D"),
    (["name": "foo@bar.baz"], "name=foo%40bar.baz"),
    (["q": "a b+c&d=e"], "q=a%20b%2Bc%26d%3De"),
    (["q": "/?"], "q=/?"),
    (["q": ":#[]@!$&'()*+,;="], "q=%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"),
    (["q": "-._~"], "q=-._~"),
    (["q": "é€😀"], "q=%C3%A9%E2%82%AC%F0%9F%98%80"),
    (["ключ": "1"], "%D0%BA%D0%BB%D1%8E%D1%87=1"),
    (["a&b": "%"], "a%26b=%25"),
    (["q": "a\u{0}b\r\n"], "q=a%00b%0D%0A"),
    (["a]b": ["[": 1]], "a%5Db%5B%5B%5D=1"),
  ]

  private func sent(_ request: ResourceRequest) async throws -> HTTPRequest {
    let engine = Engine { _, _ in .status(204) }
    _ = try await engine.fetcher.fetch(request, from: .testing(authentication: .none))
    return try #require(engine.transport.requests.first)
  }

  @Test("nesting, arrays, null, booleans and every odd character in a query", arguments: pairs)
  func query(row: (JSONObject, String)) async throws {
    for method in ["GET", "head", "Delete"] {
      let request = try await sent(ResourceRequest(path: "x", method: method, parameters: row.0))
      #expect(request.url.query == (row.1.isEmpty ? nil : row.1))
      #expect(request.body == nil)
      #expect(request.fields["Content-Type"] == nil)
    }
  }

  @Test("the same in a form", arguments: pairs)
  func form(row: (JSONObject, String)) async throws {
    for method in ["POST", "put", "Patch"] {
      let request = try await sent(
        ResourceRequest(path: "x", method: method, parameters: row.0, parametersEncoding: .formURL))
      #expect(request.body.map { String(decoding: $0, as: UTF8.self) } == row.1)
      #expect(request.fields["Content-Type"] == "application/x-www-form-urlencoded")
      #expect(request.url.query == nil)
    }
  }

  @Test("JSON keeps the members as they came")
  func json() async throws {
    let request = try await sent(
      ResourceRequest(path: "x", method: "POST", parameters: ["b": [1, nil], "a": ["é": true]]))
    #expect(request.body.map { String(decoding: $0, as: UTF8.self) } == #"{"b":[1,null],"a":{"é":true}}"#)
    #expect(request.fields["Content-Type"] == "application/json")
    let empty = try await sent(ResourceRequest(path: "x", method: "POST", parameters: [:]))
    #expect(empty.body.map { String(decoding: $0, as: UTF8.self) } == "{}")
  }

  @Test("parameters are added to the query that is there")
  func existingQuery() async throws {
    let request = try await sent(ResourceRequest(path: "x?z=1", parameters: ["a": 2]))
    #expect(request.url.description == "https://api.test/base/x?z=1&a=2")
    let bare = try await sent(ResourceRequest(path: "x?", parameters: ["a": 2]))
    #expect(bare.url.description == "https://api.test/base/x?a=2")
  }

  @Test("GET parameters stay in the query whatever the encoding")
  func encodingDoesNotMatterForGET() async throws {
    let request = try await sent(ResourceRequest(path: "x", parameters: ["a": 2], parametersEncoding: .formURL))
    #expect(request.url.query == "a=2" && request.body == nil)
  }

  @Test("a raw body overrides parameters and implies no Content-Type")
  func rawBody() async throws {
    for method in ["POST", "GET"] {
      let request = try await sent(
        ResourceRequest(path: "x", method: method, parameters: ["a": 1], body: [0, 255], headers: HTTPFields()))
      #expect(request.body == [0, 255] && request.url.query == nil && request.fields["Content-Type"] == nil)
    }
  }

  @Test("the caller's Content-Type stays, in whatever case it is spelled")
  func callersContentType() async throws {
    let headers = HTTPFields([.init(name: "content-TYPE", value: "application/vnd.x+json")])
    let request = try await sent(ResourceRequest(path: "x", method: "POST", parameters: ["a": 1], headers: headers))
    #expect(request.fields.values(of: "Content-Type") == ["application/vnd.x+json"])
  }

  @Test("parameters that make the URL too long are rejected before anything is sent")
  func tooLong() async throws {
    let engine = Engine { _, _ in .status(204) }
    let long = JSONValue.string(String(repeating: "a", count: 70_000))
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(
        ResourceRequest(path: "x", parameters: ["q": long]), from: .testing(authentication: .none))
    }
    #expect(error?.code == .invalidURL && error?.path?.jsonPointer == "/parameters")
    #expect(engine.transport.requests.isEmpty)
  }

  /// The name is written for each element: kilobytes would stand for the 16 MiB that a form may have.
  @Test(
    "a form of many times its parameters' bytes is rejected before anything is sent, one of many short names is not")
  func outOfProportion() async throws {
    let engine = Engine { _, _ in .status(204) }
    let long = String(repeating: "n", count: 15_000)
    let ones = JSONValue.array(Array(repeating: 1, count: 1100))
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(
        ResourceRequest(path: "x", method: "POST", parameters: [long: ones], parametersEncoding: .formURL),
        from: .testing(authentication: .none))
    }
    #expect(error?.path?.jsonPointer == "/parameters" && engine.transport.requests.isEmpty)
    let elements = (0..<40_000).map { number in JSONValue.object(["street": .integer(Int64(number)), "city": "x"]) }
    let parameters: JSONObject = ["customer": ["addresses": .array(elements)]]
    let request = try await sent(
      ResourceRequest(path: "x", method: "POST", parameters: parameters, parametersEncoding: .formURL))
    #expect(request.body?.count ?? 0 > 2 << 20)
  }
}
