import HTTPMessages
import PosternCrypto
import PosternSupport

/// The rules for the loopback address: programs need the key, and no web page passes, wherever its name leads.
struct GatewayAccess: Sendable {
  /// The listener's key as its file has it now; nil: there is none, and no request passes.
  let key: @Sendable () -> Secret<String>?
  /// The field in which a program sends the key of the server behind that path, where the configuration names one.
  var credentialField: @Sendable (_ path: String) -> String? = { _ in nil }

  /// Checks a request, and returns its fields without the key.
  func check(_ head: RequestHead) throws(RequestRejection) -> HTTPFields {
    guard head.host.isEmpty && head.line.minorVersion == 0 || Self.isLoopback(head.host) else {
      throw RequestRejection("Host is not a loopback address or localhost", status: 421, .misdirected)
    }
    let site = head.fields["sec-fetch-site"]
    guard head.fields["origin"] == nil, site == nil || site == "none" else {
      throw RequestRejection("requests of web pages are not accepted", status: 403, .webPage)
    }
    var fields = head.forwarded
    guard let used = matchingField(head) else {
      throw RequestRejection(
        "the key of gateway.listen.keyFile is missing, or another one: send it as Postern-Key, as Basic's password, or where the server's key would be",
        status: 401, .keyRequired)
    }
    fields[used] = nil
    // Programs may send the key in two fields: it is for no other server.
    guard let key = key()?.reveal() else { return fields }
    return HTTPFields(fields.lines.filter { !$0.value.containsBytes(of: key) })
  }

  /// The field that has the key: `Postern-Key`, or where there is none, one that unchanged programs can be given.
  private func matchingField(_ head: RequestHead) -> String? {
    let fields = head.fields
    guard let key = key()?.reveal() else { return nil }
    if fields["postern-key"] != nil { return matches(fields.values(of: "postern-key"), key) ? "postern-key" : nil }
    if let own = credentialField(head.line.path), let value = fields[own],
      matches([value], key) || matches([String(Self.behindFirstWord(value))], key), fields.values(of: own).count == 1
    {
      return own
    }
    if let value = fields["authorization"], let credential = Self.credential(value) {
      return matches([credential], key) && fields.values(of: "authorization").count == 1 ? "authorization" : nil
    }
    return Self.keyFields.first { matches(fields.values(of: $0), key) }
  }

  /// The fields of the key in servers that many programs are made for.
  private static let keyFields = ["x-api-key", "api-key", "x-goog-api-key"]

  /// What follows a scheme, or another word that a server wants before its key.
  private static func behindFirstWord(_ value: String) -> Substring {
    Substring(value.utf8.drop { $0 != 0x20 }.drop { $0 == 0x20 })
  }

  private func matches(_ values: [String], _ key: String) -> Bool {
    values.count == 1 && !key.isEmpty && ConstantTime.equals(Array(values[0].utf8), Array(key.utf8))
  }

  /// A bearer token, GitHub's form of one, the password of Basic (RFC 7617 section 2), or the identifier of the key in a
  /// signature of AWS.
  private static func credential(_ value: String) -> String? {
    let parts = value.split(atByte: " ", maxSplits: 1)
    guard parts.count == 2 else { return nil }
    switch String(parts[0]).lowercasedASCII() {
    case "bearer", "token": return String(parts[1])
    case "basic":
      guard let bytes = Base64.decode(String(parts[1])), let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
        return nil
      }
      return String(decoding: bytes[(colon + 1)...], as: UTF8.self)
    case "aws4-hmac-sha256":
      // `Credential=IDENTIFIER/20261127/eu-west-1/s3/aws4_request, SignedHeaders=…, Signature=…`
      let name = "Credential="
      guard let scope = String(parts[1]).split(atByte: ",").first.map(String.init), scope.startsWithBytes(of: name)
      else {
        return nil
      }
      return String(Substring(scope.utf8.dropFirst(name.utf8.count)).prefix(beforeBytes: "/"))
    default: return nil
    }
  }

  /// Whether a value of `Host` is `localhost`, 127.0.0.0/8 or ::1, with or without a port.
  static func isLoopback(_ host: String) -> Bool {
    if host.startsWithBytes(of: "[::1]") { return true }
    let name = host.prefix(beforeBytes: ":")
    if name.hasSameASCIILetters(as: "localhost") { return true }
    return HTTPHost.isLoopbackAddress(String(name))
  }
}
