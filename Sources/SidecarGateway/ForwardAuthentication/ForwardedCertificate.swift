import HTTPMessages
import PosternSupport

/// Reads the certificate of the client's TLS connection from the field in which the front reports it.
enum ForwardedCertificate {
  private static let maxBytes = 16_384
  private static let start = "-----BEGIN CERTIFICATE-----"
  private static let end = "-----END CERTIFICATE-----"

  /// The client's certificate in PEM; nil where the field is missing or empty: the client has shown none.
  ///
  /// The forms are those of RFC 9440 (`:base64:`), of nginx (percent-encoded PEM), of Apache (PEM whose line feeds are
  /// spaces), of HAProxy (base64), of Traefik (base64, the first of several), and of Envoy's
  /// `X-Forwarded-Client-Cert` (the last element's `Cert`).
  static func pem(in fields: HTTPFields, field name: String) throws(ForwardingError) -> String? {
    guard let value = try fields.only(name), !value.isEmpty else { return nil }
    guard value.utf8.count <= maxBytes else { throw .invalid(name, "is longer than 16 KiB") }
    if HTTPFieldRules.canonical(name) == "x-forwarded-client-cert" { return try envoy(value, name) }
    return try pem(value, name)
  }

  private static func pem(_ value: String, _ name: String) throws(ForwardingError) -> String {
    let text = try decoded(value, name)
    var bytes = text.utf8[...]
    if bytes.starts(with: start.utf8) {
      bytes = bytes.dropFirst(start.utf8.count)
      guard let marker = index(of: end, in: bytes) else { throw .invalid(name, "is no certificate") }
      bytes = bytes[..<marker]
    } else if bytes.first == UInt8(ascii: ":") {
      guard bytes.count > 2, bytes.last == UInt8(ascii: ":") else { throw .invalid(name, "is no certificate") }
      bytes = bytes.dropFirst().dropLast()
    } else {
      bytes = bytes.prefix { $0 != UInt8(ascii: ",") }
    }
    let body = bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
    guard !body.isEmpty, let certificate = Base64.decode(body) else { throw .invalid(name, "is no certificate") }
    return written(certificate)
  }

  /// `certificate` as PEM text (RFC 7468).
  private static func written(_ certificate: [UInt8]) -> String {
    let body = Base64.encode(certificate)
    let lines = stride(from: 0, to: body.count, by: 64).map { start in
      String(decoding: body[start..<min(start + 64, body.count)], as: UTF8.self)
    }
    return ([start] + lines + [end, ""]).joined(separator: "\n")
  }

  /// Without percent-encoding. A `+` stays: it belongs to base64.
  private static func decoded(_ value: String, _ name: String) throws(ForwardingError) -> String {
    guard value.utf8.contains(UInt8(ascii: "%")) else { return value }
    let literal = value.utf8.flatMap { $0 == UInt8(ascii: "+") ? Array("%2B".utf8) : [$0] }
    guard let fields = FormEncoding.decode("v=\(String(decoding: literal, as: UTF8.self))"), fields.count == 1,
      let text = fields.first?.value
    else { throw .invalid(name, "is not percent-encoded correctly") }
    return text
  }

  private static func index(of text: String, in bytes: Substring.UTF8View) -> Substring.UTF8View.Index? {
    bytes.indices.first { bytes[$0...].starts(with: text.utf8) }
  }

  // MARK: Envoy

  /// The certificate of the last element, which is the nearest hop's: earlier ones may come from the client.
  private static func envoy(_ value: String, _ name: String) throws(ForwardingError) -> String {
    guard let elements = split(value.utf8[...], at: UInt8(ascii: ",")), let last = elements.last,
      let pairs = split(last, at: UInt8(ascii: ";"))
    else { throw .invalid(name, "has an unclosed quote") }
    var found: String?
    for pair in pairs {
      let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard halves.count == 2, String(Substring(halves[0])).lowercasedASCII() == "cert" else { continue }
      guard found == nil else { throw .duplicate("Cert in \(name)") }
      var text = halves[1]
      if text.count > 1, text.first == UInt8(ascii: "\""), text.last == UInt8(ascii: "\"") {
        text = text.dropFirst().dropLast()
      }
      found = String(Substring(text))
    }
    guard let found else { throw .missing("Cert in \(name) (set_current_client_cert_details)") }
    return try pem(found, name)
  }

  /// The parts between `separator`, as far as it is not within quotes; nil: a quote is not closed.
  private static func split(
    _ text: Substring.UTF8View, at separator: UInt8
  ) -> [Substring.UTF8View]? {
    var parts: [Substring.UTF8View] = []
    var (begin, isQuoted, isEscaped) = (text.startIndex, false, false)
    for index in text.indices {
      let byte = text[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if byte == separator, !isQuoted {
        parts.append(text[begin..<index])
        begin = text.index(after: index)
      }
    }
    return isQuoted ? nil : parts + [text[begin...]]
  }
}
