import Glibc

/// Addresses as they are written in a URL: IPv6 in brackets.
enum IPAddress {
  /// Whether `host` is an address.
  static func isLiteral(_ host: String) -> Bool {
    var bytes = in6_addr()
    guard host.hasPrefix("["), host.hasSuffix("]") else { return inet_pton(AF_INET, host, &bytes) == 1 }
    return inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &bytes) == 1
  }
}
