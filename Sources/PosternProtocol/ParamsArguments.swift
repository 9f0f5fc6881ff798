public import PosternJSON
import PosternSupport

/// The params of a call as the words of a command line.
///
/// Each word is one of: `name=value` (a string), `name:=json` (any JSON), `name=@file` (the file's text),
/// `name:=@file` (the JSON in the file), `@file` or `-` (all params, from a file or standard input), or a JSON object.
/// At most one word has all params; the others add to it.
///
/// Errors name params and files and quote no value: values may be secrets.
public struct ParamsArguments {
  /// Why words are no params, in a sentence.
  public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    /// A failure in these words.
    public init(_ description: String) { self.description = description }
  }

  /// Reads a file whole; `-` is standard input.
  public typealias Reader = (_ path: String) throws(Failure) -> [UInt8]

  private let read: Reader
  private var base: JSONValue?
  private var members = JSONObject()
  private var hasReadStandardInput = false

  private init(_ read: @escaping Reader) { self.read = read }

  /// The params that `words` describe; nil without words.
  public static func params(of words: [String], read: @escaping Reader) throws(Failure) -> JSONValue? {
    guard !words.isEmpty else { return nil }
    var arguments = ParamsArguments(read)
    for (index, word) in words.enumerated() { try arguments.add(word, at: index + 1) }
    return try arguments.joined()
  }

  /// The name at the start of `word`, and whether a value follows as it is (`=`) or as JSON (`:=`); nil where the word
  /// does not begin that way.
  static func item(_ word: String) -> (name: String, isJSON: Bool, value: String)? {
    let bytes = word.utf8
    guard let first = bytes.first, isLetter(first),
      let end = bytes.firstIndex(where: { !isLetter($0) && !isOtherNameByte($0) })
    else { return nil }
    let name = String(word[..<end])
    if bytes[end] == UInt8(ascii: "=") { return (name, false, String(word[bytes.index(after: end)...])) }
    let next = bytes.index(after: end)
    guard bytes[end] == UInt8(ascii: ":"), next < bytes.endIndex, bytes[next] == UInt8(ascii: "=") else { return nil }
    return (name, true, String(word[bytes.index(after: next)...]))
  }

  private mutating func add(_ word: String, at number: Int) throws(Failure) {
    if let item = Self.item(word) {
      guard members[item.name] == nil else { throw Failure("the param \(item.name) is given twice") }
      members[item.name] = try value(item)
    } else if word == "-" {
      try setBase(Self.json(contents("-"), "the params from standard input are"))
    } else if word.startsWithBytes(of: "@") {
      let path = String(word.dropFirst())
      try setBase(Self.json(contents(path), "the params in \(path) are"))
    } else if Self.startsStructure(word) {
      try setBase(Self.json(Array(word.utf8), "the params are"))
    } else {
      throw Failure("param \(number) is neither name=value nor name:=JSON, @FILE, - or a JSON object")
    }
  }

  private mutating func value(_ item: (name: String, isJSON: Bool, value: String)) throws(Failure) -> JSONValue {
    let isFile = item.value.startsWithBytes(of: "@")
    let bytes = isFile ? try contents(String(item.value.dropFirst())) : Array(item.value.utf8)
    if item.isJSON { return try Self.json(bytes, "the param \(item.name) is", allowsScalar: true) }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure("the param \(item.name) is not UTF-8; bytes need base64, as in bodyBase64")
    }
    return .string(text)
  }

  private mutating func setBase(_ value: JSONValue) throws(Failure) {
    guard base == nil else { throw Failure("all params are given twice: as JSON, @FILE or - only once") }
    base = value
  }

  private mutating func contents(_ path: String) throws(Failure) -> [UInt8] {
    guard !path.isEmpty else { throw Failure("@ needs the name of a file") }
    guard path == "-" else { return try read(path) }
    guard !hasReadStandardInput else { throw Failure("standard input can be read only once") }
    hasReadStandardInput = true
    return try read(path)
  }

  private func joined() throws(Failure) -> JSONValue {
    guard let base else { return .object(members) }
    guard !members.isEmpty else { return base }
    guard case .object(var object) = base else {
      throw Failure("the params are not a JSON object, so that no name=value can be added")
    }
    for member in members.members {
      guard object[member.name] == nil else { throw Failure("the param \(member.name) is given twice") }
      object[member.name] = member.value
    }
    return .object(object)
  }

  private static func json(
    _ bytes: [UInt8], _ subject: String, allowsScalar: Bool = false
  ) throws(Failure) -> JSONValue {
    do throws(JSONParseError) {
      return try JSONParser(maxBytes: .max, allowsNUL: true, allowsScalar: allowsScalar).parse(bytes)
    } catch {
      throw Failure(error.kind == .syntax ? "\(subject) \(error)" : "\(subject) not acceptable: \(error)")
    }
  }

  /// Whether `word` is meant to be a JSON object or array.
  private static func startsStructure(_ word: String) -> Bool {
    let first = word.utf8.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }

  private static func isOtherNameByte(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
  }
}
