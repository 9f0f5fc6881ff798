import HTTPMessages
import PosternSupport

/// `X-Request-ID`: what both sides call one request.
enum RequestIdentifier {
  static let field = "X-Request-ID"

  /// A new one.
  static func make() -> String {
    String(NonSecretRandom.shared.next(), radix: 16) + String(NonSecretRandom.shared.next(), radix: 16)
  }

  /// The one of `response`, or else the one that was sent.
  static func of(_ response: HTTPResponse, sent: String) -> String {
    guard let echoed = response.fields[field], (1...128).contains(echoed.utf8.count),
      echoed.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { return sent }
    return echoed
  }
}
