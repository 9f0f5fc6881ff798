import Foundation
import HTTPMessages

/// The invariants of every header section that a server can send, and of the values read out of its fields.
public enum HeadInvariants {
  private static let limits = ResponseHead.Limits(bytes: 800, lines: 12, interim: 2)
  private static let base = "https://shop.test:8443/a/b?c"
  /// RFC 9110 section 5.6.2.
  private static let tokens = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)

  /// Checks an input: the lines as they arrive, each up to its line feed. Returns how many fields the response has; 0
  /// when it is rejected.
  public static func check(_ input: [UInt8]) throws -> Int {
    var head = ResponseHead(limits: limits)
    var rest = input[...]
    while !rest.isEmpty {
      let line = Array(rest.prefix { $0 != 0x0A }) + [0x0A]
      rest = rest.dropFirst(line.count)
      switch line.withUnsafeBufferPointer({ head.consume($0) }) {
      case .more, .complete: continue
      case .malformed, .tooLarge: return 0
      }
    }
    guard head.isComplete else { return 0 }
    try check(head)
    let fields = HTTPFields(head.lines)
    for field in head.lines { try checkNames(field.name) }
    try checkChallenges(fields)
    if let type = fields["Content-Type"] { try checkMediaType(type) }
    for location in fields.values(of: "Location") { try checkLocation(location) }
    return head.lines.count
  }

  // MARK: - The section

  private static func check(_ head: ResponseHead) throws {
    try demand((200..<600).contains(head.status), "the status of a final response")
    try demand(head.lines.count <= limits.lines, "too many fields")
    for field in head.lines {
      try demand(isToken(field.name), "a field name that is no token")
      try demand(!field.value.utf8.contains { $0 == 0 || $0 == 0x0D || $0 == 0x0A }, "a response that is split")
    }
    // A second, naive reading of what frames the body.
    let lengths = values("content-length", of: head)
    try demand(lengths.allSatisfy { Int($0) == head.framing.contentLength }, "a length among several")
    try demand(lengths.isEmpty == (head.framing.contentLength == nil), "a length out of nowhere")
    let transfers = values("transfer-encoding", of: head)
    try demand(transfers.count <= 1 && transfers.allSatisfy { lowercased($0) == "chunked" }, "a coding let through")
    try demand(head.framing.isChunked == !transfers.isEmpty, "chunked or not")
    let codings = values("content-encoding", of: head).flatMap { $0.components(separatedBy: ",") }
      .map { lowercased($0.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))) }
      .filter { !$0.isEmpty && $0 != "identity" }
    try demand(codings.count <= 2, "more content codings than are undone")
    try demand(head.framing.hasContentCoding == !codings.isEmpty, "a content coding overlooked")
  }

  private static func values(_ name: String, of head: ResponseHead) -> [String] {
    head.lines.filter { lowercased($0.name) == name }.map(\.value)
  }

  // MARK: - Fields

  /// Names that a server behind a gateway takes for one are judged as one.
  private static func checkNames(_ name: String) throws {
    let folded = name.replacingOccurrences(of: "-", with: "_")
    for spelling in [lowercased(name), folded, folded.uppercased()] {
      try demand(HTTPFieldRules.isReserved(spelling) == HTTPFieldRules.isReserved(name), "reserved in one spelling")
      let overrides = [spelling, name].map { HTTPFieldRules.overridesRequest($0, value: "host=a") }
      try demand(overrides[0] == overrides[1], "overrides the request in one spelling")
    }
  }

  private static func checkChallenges(_ fields: HTTPFields) throws {
    let challenges = AuthenticationChallenge.all(in: fields)
    try demand(challenges.count <= 32, "too many challenges")
    for challenge in challenges {
      try demand(isToken(challenge.scheme), "a scheme that is no token")
      try demand(challenge.parameters.count <= 64, "too many parameters")
      try demand(challenge.token68 == nil || challenge.parameters.isEmpty, "a token68 and parameters")
      for parameter in challenge.parameters {
        try demand(isToken(parameter.name) && parameter.name == lowercased(parameter.name), "the name of a parameter")
      }
    }
  }

  private static func checkMediaType(_ value: String) throws {
    guard let type = MediaType(value) else { return }
    try demand(isToken(type.type) && isToken(type.subtype), "a media type of no tokens")
    try demand(type.essence == lowercased(type.essence), "a media type in upper case")
    let again = MediaType(type.essence + (type.charset.map { ";charset=\($0)" } ?? ""))
    try demand(again == type, "a media type that reads as another one")
  }

  /// Where a redirect leads, by Foundation's reading as well.
  private static func checkLocation(_ location: String) throws {
    guard let url = try? HTTPURL(base).resolving(reference: location) else { return }
    try demand((try? HTTPURL(url.description)) == url, "a URL that reads as another one")
    guard let second = URLComponents(string: url.description) else {
      throw InvariantViolation(description: "a URL that Foundation cannot read")
    }
    try demand(second.scheme == url.origin.scheme && second.user == nil, "another scheme, or a user")
    try demand(second.percentEncodedHost == url.origin.host, "another host")
    try demand(second.port ?? (second.scheme == "https" ? 443 : 80) == url.origin.port, "another port")
    try demand(second.percentEncodedPath == url.path && second.percentEncodedQuery == url.query, "another path")
    let segments = url.path.components(separatedBy: "/")
    try demand(!segments.contains(".") && !segments.contains(".."), "dot segments")
  }

  // MARK: - Bytes

  private static func isToken(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(tokens.contains) }

  private static func lowercased(_ text: String) -> String {
    String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
  }
}
