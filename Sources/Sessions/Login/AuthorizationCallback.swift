import HTTPMessages
import PosternSupport

/// The URL to which the issuer sent the user back, taken apart (RFC 6749 section 4.1.2).
struct AuthorizationCallback: Sendable {
  static let maxBytes = 64 << 10

  /// The URL without its query and fragment.
  let location: String
  private let members: [(name: String, value: String)]

  /// Nil when it is too long, or repeats a parameter (RFC 6749 section 3.1).
  init?(_ url: String) {
    guard url.utf8.count <= Self.maxBytes else { return nil }
    let parts = url.prefix(beforeBytes: "#").split(atByte: "?", maxSplits: 1, omittingEmptySubsequences: false)
    location = parts.first.map(String.init) ?? ""
    guard let members = FormEncoding.decode(parts.count > 1 ? String(parts[1]) : "") else { return nil }
    guard Set(members.map { Array($0.name.utf8) }).count == members.count else { return nil }
    self.members = members
  }

  subscript(name: String) -> String? { members.first { $0.name.hasSameBytes(as: name) }?.value }
}
