import AuthEngine
import Foundation
import HTTPMessages
import PosternSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPURLResponse {
  /// The field for challenges of a 401 that `URLSession` must not see; see `fields(of:)`.
  static let withheldChallenges = "Postern-WWW-Authenticate"

  /// Makes the head of an answer; several fields of one name are joined (RFC 9110 section 5.3).
  convenience init?(_ response: ResourceResponse) {
    guard let url = URL(string: "\(response.url)") else { return nil }
    var fields: [String: String] = [:]
    var names: [String: String] = [:]
    for line in Self.fields(of: response) {
      let name = names[line.name.lowercasedASCII(), default: line.name]
      names[line.name.lowercasedASCII()] = name
      fields[name] = fields[name].map { "\($0), \(line.value)" } ?? line.value
    }
    self.init(url: url, statusCode: response.status, httpVersion: "HTTP/1.1", headerFields: fields)
  }

  /// Returns the answer's fields. A 401 with a Basic challenge makes swift-corelibs-foundation handle the task itself:
  /// it never ends where there is no credential, and where there is one the task retries the request without the
  /// engine. So such a challenge gets another field name.
  private static func fields(of response: ResourceResponse) -> [HTTPFields.Field] {
    #if canImport(FoundationNetworking)
      guard response.status == 401 else { return response.fields.lines }
      return response.fields.lines.map { line in
        guard line.name.hasSameASCIILetters(as: "WWW-Authenticate"), requiresPassword(line.value) else { return line }
        return HTTPFields.Field(name: withheldChallenges, value: line.value)
      }
    #else
      return response.fields.lines
    #endif
  }

  /// Whether Foundation could read a Basic challenge in `value`: it looks behind each comma, in quotes or not.
  private static func requiresPassword(_ value: String) -> Bool {
    value.utf8.split(separator: UInt8(ascii: ",")).contains { part in
      let text = part.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      return text.prefix(5).map { $0 | 0x20 }.elementsEqual("basic".utf8)
    }
  }
}
