import PosternJSON
import Testing

@testable import PosternProtocol

@Suite("Words of a command line become params")
struct ParamsArgumentsTests {
  typealias Row = (words: [String], params: JSONValue?)

  static let files: [String: String] = [
    "params.json": #"{"resource":"billing"}"#, "letter.txt": "Dear all,\n", "list.json": "[1,2]", "-": #"{"a":"in"}"#,
    "number": "7",
  ]

  static let accepted: [Row] = [
    ([], nil),
    ([#"{"a":1}"#], ["a": 1]),
    (["  {}"], [:]),
    (["[1]"], [1]),
    (["a=1"], ["a": "1"]),
    (["a="], ["a": ""]),
    (["a=b=c:=d"], ["a": "b=c:=d"]),
    (["a:=1", "b:=[true]", "c:=null", "d:=\"x\""], ["a": 1, "b": [true], "c": .null, "d": "x"]),
    (["a=:=x"], ["a": ":=x"]),
    (["callbackUrl=http://127.0.0.1/?code=1&state=2"], ["callbackUrl": "http://127.0.0.1/?code=1&state=2"]),
    (["@params.json"], ["resource": "billing"]),
    (["path=x", "@params.json"], ["resource": "billing", "path": "x"]),
    ([#"{"a":"x=1"}"#, "b:=2"], ["a": "x=1", "b": 2]),
    (["-"], ["a": "in"]),
    (["a:=@-", "b=x"], ["a": ["a": "in"], "b": "x"]),
    (["body=@letter.txt", "a:=@number"], ["body": "Dear all,\n", "a": 7]),
    (["a:=\"@letter.txt\""], ["a": "@letter.txt"]),
    (["a_b-2=1"], ["a_b-2": "1"]),
  ]

  @Test("a word that is read as another kind, changed, or lost", arguments: accepted)
  func accept(row: Row) throws {
    #expect(try ParamsArguments.params(of: row.words, read: Self.read) == row.params)
  }

  static let rejected: [(words: [String], reason: String)] = [
    (["resource"], "param 1 is neither"),
    (["a=1", "eyJhbGciOi.secret"], "param 2 is neither"),
    (["1a=x"], "param 1 is neither"),
    ([""], "param 1 is neither"),
    (["a:x"], "param 1 is neither"),
    (["{"], "the params are not acceptable: ends too early"),
    (["{secret}"], "the params are not valid JSON"),
    (["a:=secret"], "the param a is not valid JSON"),
    (["a:="], "the param a is not"),
    (["a=1", "a:=2"], "the param a is given twice"),
    ([#"{"a":1}"#, "a=2"], "the param a is given twice"),
    ([#"{"a":1,"a":2}"#], "duplicate member name"),
    (["{}", "@params.json"], "all params are given twice"),
    (["-", "a=@-"], "standard input can be read only once"),
    (["@"], "@ needs the name of a file"),
    (["a=@"], "@ needs the name of a file"),
    (["@nowhere"], "nowhere: no file"),
    (["@list.json", "a=1"], "not a JSON object"),
    (["@number"], "the params in number are"),
  ]

  @Test("wrong words that are guessed at; an error without the param, or with a value", arguments: rejected)
  func reject(row: (words: [String], reason: String)) {
    let failure = #expect(throws: ParamsArguments.Failure.self) {
      try ParamsArguments.params(of: row.words, read: Self.read)
    }
    #expect(failure?.description.contains(row.reason) == true, "\(failure?.description ?? "nil")")
    #expect(failure?.description.contains("secret") == false)
  }

  @Test("bytes that are no text, taken for text")
  func bytes() {
    let failure = #expect(throws: ParamsArguments.Failure.self) {
      try ParamsArguments.params(of: ["body=@photo"]) { (_) throws(ParamsArguments.Failure) in [0xFF, 0xD8] }
    }
    #expect(failure?.description == "the param body is not UTF-8; bytes need base64, as in bodyBase64")
  }

  private static func read(_ path: String) throws(ParamsArguments.Failure) -> [UInt8] {
    guard let text = files[path] else { throw ParamsArguments.Failure("\(path): no file") }
    return Array(text.utf8)
  }
}
