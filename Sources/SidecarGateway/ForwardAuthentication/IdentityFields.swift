import HTTPMessages
import PosternConfiguration
import PosternJSON
import PosternSupport

/// The header fields that report a token's user to the API, as `identityHeaders` has them.
///
/// Each is there for every accepted request: a front replaces the client's own field by it. What a token contains is no
/// reason to reject a valid one, so that a field is empty where its claim cannot be written.
package struct IdentityFields: Sendable, Equatable {
  /// A field that is empty although its claim is there.
  package struct Emptied: Sendable, Equatable {
    /// The name of the field.
    package let name: String
    /// The name of the claim.
    package let claim: String
    /// Continues "the claim".
    package let reason: String
  }

  /// All of them, by name.
  let lines: [(name: String, value: String)]
  /// Those that are empty although their claims are there.
  let emptied: [Emptied]

  /// The fields for `claims`. Where they take more than the API's front reads, the longest are empty.
  init(of claims: JSONObject, at api: ProtectedAPIConfiguration) {
    var values: [String: String] = [:]
    var emptied: [Emptied] = []
    // A field's line takes its name, ": " and CR LF, also where it is empty.
    var free = api.identityHeaders.keys.reduce(api.identityHeaderBytes) { $0 - $1.utf8.count - 4 }
    var written: [(name: String, claim: String, text: String)] = []
    for (name, claim) in api.identityHeaders {
      do throws(ClaimProblem) {
        written.append((name, claim, try ClaimText.field(of: Self.value(of: claim, in: claims))))
      } catch {
        emptied.append(Emptied(name: name, claim: claim, reason: error.reason))
      }
    }
    written.sort { ($0.text.utf8.count, $0.name) < ($1.text.utf8.count, $1.name) }
    for (name, claim, text) in written {
      guard text.utf8.count <= max(0, free) else {
        let reason = "is too long: all identity headers may take \(api.identityHeaderBytes) bytes (identityHeaderBytes)"
        emptied.append(Emptied(name: name, claim: claim, reason: reason))
        continue
      }
      free -= text.utf8.count
      values[name] = text
    }
    lines = api.identityHeaders.keys.sorted().map { ($0, values[$0] ?? "") }
    self.emptied = emptied.sorted { $0.name < $1.name }
  }

  /// The claim of that name; else, where the name is a path, the member that it leads to, as `realm_access.roles`.
  private static func value(of claim: String, in claims: JSONObject) -> JSONValue? {
    if let value = claims[claim] { return value }
    let path = claim.split(atByte: ".", omittingEmptySubsequences: false)
    guard path.count > 1 else { return nil }
    return path.reduce(JSONValue.object(claims)) { value, name in value?[String(name)] }
  }

  package static func == (left: IdentityFields, right: IdentityFields) -> Bool {
    left.emptied == right.emptied && left.lines.elementsEqual(right.lines) { $0 == $1 }
  }
}

/// Why a claim cannot be written.
struct ClaimProblem: Error, Equatable {
  /// Continues "the claim".
  let reason: String
}

/// Writes a claim as the value of a header field.
enum ClaimText {
  /// Numbers from here on are not exact: another user's might be written the same.
  private static let firstInexactNumber = 0x1p53

  /// Printable ASCII: strings, numbers and truth values as they are, lists of them with commas between them. Other
  /// bytes than printable ones are percent-encoded, as are `%`, a space at either end, and a comma in a list, so that
  /// two texts stay different and none adds a field. Empty for a missing claim.
  static func field(of claim: JSONValue?) throws(ClaimProblem) -> String {
    switch claim {
    case nil, .null: return ""
    case .string(let text): return encoded(text)
    case .array(let elements):
      return try elements.map { element throws(ClaimProblem) in
        switch element {
        case .string(let text): encoded(text, alsoEscaping: UInt8(ascii: ","))
        case .integer, .real, .bool: try field(of: element)
        case .null, .object, .array:
          throw ClaimProblem(reason: "is a list with members other than texts, numbers and truth values")
        }
      }.joined(separator: ",")
    case .integer(let number): return String(number)
    case .real(let number):
      guard abs(number) < firstInexactNumber else {
        throw ClaimProblem(reason: "is a number with more digits than can be written exactly")
      }
      return Int64(exactly: number).map { String($0) } ?? String(number)
    case .bool(let value): return value ? "true" : "false"
    case .object: throw ClaimProblem(reason: "is an object")
    }
  }

  private static func encoded(_ text: String, alsoEscaping separator: UInt8 = UInt8(ascii: "%")) -> String {
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    for (index, byte) in bytes.enumerated() {
      let isAtEnd = index == 0 || index == bytes.count - 1
      let isPlain = byte > 0x20 ? byte < 0x7F : byte == 0x20 && !isAtEnd
      if isPlain, byte != UInt8(ascii: "%"), byte != separator {
        result.append(byte)
      } else {
        PercentEncoding.append(byte, to: &result)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
